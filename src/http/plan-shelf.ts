/**
 * Plans that a run can be started from for an hour, each as files of the spool: the rows that were handed over, what was
 * asked and what came of it, and, once somebody pages through them, the verdict of every row. They outlive a restart of
 * the worker, and belong to the worker (or the workers of one data directory) that made them.
 */
import { randomInt } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { readFile, rename, stat, writeFile } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { SimfleetError } from "#core/errors.ts";
import { type Clock, minuteMs } from "#core/time.ts";
import { type Filter, parseFilter } from "#fleet/filter.ts";
import type { PlanReport } from "#runs/plan-report.ts";
import type { PlanRow } from "#runs/plan-rows.ts";
import type { Order, Origin } from "./order.ts";
import type { Spool } from "./spool.ts";

const keepMs = 60 * minuteMs;
/** A page ends after so many bytes of rows were looked through, found or not. */
const lookedThroughAtMost = 16 * 1_048_576;

export interface ShelvedPlan {
  readonly planId: string;
  readonly order: Order;
  readonly from: Origin;
  /** Name of the file as it was handed over, or the filter. */
  readonly source: string;
  readonly expiresAtMs: number;
  readonly report: PlanReport;
}

type Written = Omit<ShelvedPlan, "from"> & { readonly where: string | null };

export class PlanShelf {
  readonly #spool: Spool;
  readonly #clock: Clock;
  readonly #writing = new Map<string, Promise<void>>();

  constructor(parts: { spool: Spool; clock: Clock }) {
    this.#spool = parts.spool;
    this.#clock = parts.clock;
  }

  /** `p-20261120-103045-x7k2m9`: sorts by time. */
  newPlanId(): string {
    const stamp = new Date(this.#clock.wallMs()).toISOString().replace(/[-:]/g, "").replace("T", "-").slice(0, 15);
    return `p-${stamp}-${randomInt(36 ** 5, 36 ** 6).toString(36)}`;
  }

  /** Name of the file in the spool that a plan's rows are handed over to. */
  fileOf(planId: string): string {
    return `${planId}.csv`;
  }

  /** Takes a plan in, and the file that it was made of. */
  async put(plan: Omit<ShelvedPlan, "expiresAtMs">): Promise<ShelvedPlan> {
    const { from, ...rest } = plan;
    const expiresAtMs = this.#clock.wallMs() + keepMs;
    const written: Written = { ...rest, expiresAtMs, where: "filter" in from ? from.filter.text : null };
    await this.#spool.open();
    // The rows first: a plan that can be found has them.
    if ("path" in from) await rename(from.path, this.#path(plan.planId, "csv"));
    await writeFile(this.#path(plan.planId, "json"), JSON.stringify(written), { mode: 0o600 });
    return { ...plan, expiresAtMs };
  }

  /** @throws SimfleetError NOT_FOUND */
  async get(planId: string): Promise<ShelvedPlan> {
    const isId = /^p-[a-z0-9-]{1,40}$/.test(planId);
    const text = isId ? await readFile(this.#path(planId, "json"), "utf8").catch(() => undefined) : undefined;
    const written = text === undefined ? undefined : (JSON.parse(text) as Written);
    if (written === undefined || written.expiresAtMs <= this.#clock.wallMs()) {
      throw new SimfleetError(
        "NOT_FOUND",
        `There is no plan ${planId}: a plan is kept for an hour, by the worker that made it. Plan again`,
      );
    }
    const { where, ...rest } = written;
    return { ...rest, from: where === null ? { path: this.#path(planId, "csv") } : { filter: filterIn(where) } };
  }

  async remove(planId: string): Promise<void> {
    await this.get(planId);
    for (const kind of ["json", "csv", "rows"]) await this.#spool.remove(this.#path(planId, kind));
  }

  /**
   * The rows of a plan with their verdicts. They are judged once, and paged through as they were then.
   * @param judge gives all of them, in their order
   * @throws SimfleetError REQUEST_INVALID on a cursor that is none
   */
  async rows(
    planId: string,
    ask: { verdict?: string | undefined; limit: number; cursor?: string | undefined },
    judge: () => Promise<AsyncIterable<PlanRow>>,
  ): Promise<{ rows: PlanRow[]; nextCursor: string | null }> {
    const path = this.#path(planId, "rows");
    await this.#write(path, judge);
    const start = ask.cursor === undefined ? 0 : Number(ask.cursor);
    if (!Number.isSafeInteger(start) || start < 0 || start > (await stat(path)).size) {
      throw new SimfleetError("REQUEST_INVALID", "That is no cursor: take the nextCursor of the page before");
    }
    const rows: PlanRow[] = [];
    for await (const { line, at } of linesOf(path, start)) {
      if (rows.length === ask.limit || at - start > lookedThroughAtMost) return { rows, nextCursor: String(at) };
      const row = JSON.parse(line) as PlanRow;
      if (ask.verdict === undefined || row.verdict === ask.verdict) rows.push(row);
    }
    return { rows, nextCursor: null };
  }

  /** Once, however many ask at the same time. */
  async #write(path: string, judge: () => Promise<AsyncIterable<PlanRow>>): Promise<void> {
    if (await stat(path).catch(() => undefined)) return;
    let writing = this.#writing.get(path);
    if (writing === undefined) {
      writing = writeLines(path, judge).finally(() => this.#writing.delete(path));
      this.#writing.set(path, writing);
    }
    await writing;
  }

  #path(planId: string, kind: string): string {
    return this.#spool.path(`${planId}.${kind}`);
  }
}

function filterIn(text: string): Filter {
  return text === "" ? { text, conditions: [] } : parseFilter(text);
}

async function writeLines(path: string, judge: () => Promise<AsyncIterable<PlanRow>>): Promise<void> {
  const partial = `${path}.partial-${process.pid}`;
  const rows = await judge();
  const text = async function* (): AsyncGenerator<string> {
    for await (const row of rows) yield `${JSON.stringify(row)}\n`;
  };
  await pipeline(Readable.from(text()), createWriteStream(partial, { mode: 0o600 }));
  await rename(partial, path);
}

/** The lines of a file from one place on, each with the place where it begins. */
async function* linesOf(path: string, start: number): AsyncGenerator<{ line: string; at: number }> {
  let rest = Buffer.alloc(0);
  let at = start;
  for await (const chunk of createReadStream(path, { start })) {
    rest = Buffer.concat([rest, chunk as Buffer]);
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
      yield { line: rest.toString("utf8", 0, end), at };
      at += end + 1;
      rest = rest.subarray(end + 1);
    }
  }
}
