/**
 * Plans from which a run can be started within an hour. Each is stored as files of the spool: the uploaded rows, the
 * query and its report and, once a client pages through it, the verdict of every row. Plans survive a restart of the
 * worker. They belong to the worker, or to the workers that share a data directory. The number and bytes of a caller's
 * plans are limited, including uploads in progress. Expired plans are removed.
 */
import { randomInt } from "node:crypto";
import { readdir, rename, stat } from "node:fs/promises";
import { SimfleetError } from "#core/errors.ts";
import { openFile } from "#core/files/open-file.ts";
import { type Clock, minuteMs } from "#core/time.ts";
import { replaceFile } from "#core/files/write-file.ts";
import { type Filter, parseFilter } from "#fleet/filter.ts";
import type { PlanRow } from "#jobs/runs/contract.ts";
import type { PlanStore, StoredPlan } from "#jobs/runs/plan/plan-store.ts";
import type { Spool } from "./spool.ts";

const keepMs = 60 * minuteMs;
/** How long an expired plan is kept: another worker of the data directory may still be reading it. */
const graceMs = minuteMs;
const kinds = ["json", "csv", "rows"] as const;
/** A page ends after this many bytes of rows were scanned, matching or not. */
const maxScanned = 16 * 1_048_576;

/** What one caller may have in the spool at once. */
export interface PlanLimits {
  readonly maxPlans: number;
  readonly maxBytes: number;
}

/** Space in the spool for what one request uploads. */
export interface Reservation {
  readonly id: string;
  /** The caller that created it. */
  readonly by: string;
  /** Takes note of how many bytes have come. @throws SimfleetError PLAN_LIMIT when they are too many */
  grow(bytes: number): void;
  /** From now on it is counted as a plan. */
  isStored: boolean;
  /** Gives it back. */
  release(): void;
}

interface Stored {
  readonly by: string;
  readonly expiresAtMs: number;
  readonly bytes: number;
}

type Written = Omit<StoredPlan, "from" | "plan"> & {
  readonly where: string | null;
  /** Absent for a filter. */
  readonly isEncrypted?: boolean;
};

export class SpooledPlans implements PlanStore {
  readonly #spool: Spool;
  readonly #clock: Clock;
  readonly #limits: PlanLimits;
  readonly #writing = new Map<string, Promise<void>>();
  readonly #reservations = new Set<Reservation & { readonly bytes: number }>();
  /** How many requests read each plan just now. */
  readonly #used = new Map<string, number>();

  constructor(deps: { spool: Spool; clock: Clock; limits: PlanLimits }) {
    this.#limits = deps.limits;
    this.#spool = deps.spool;
    this.#clock = deps.clock;
  }

  /** `p-20261120-103045-x7k2m9`: sorts by time. */
  newPlanId(): string {
    const stamp = new Date(this.#clock.wallMs()).toISOString().replace(/[-:]/g, "").replace("T", "-").slice(0, 15);
    return `p-${stamp}-${randomInt(36 ** 5, 36 ** 6).toString(36)}`;
  }

  /** Name of the spool file for the rows of a plan. */
  fileOf(planId: string): string {
    return `${planId}.csv`;
  }

  /**
   * Reserves space for an upload. The caller has to release it.
   * @throws SimfleetError PLAN_LIMIT when the caller has too many plans, or too many bytes of them
   */
  async reserve(by: string): Promise<Reservation> {
    const { maxPlans, maxBytes } = this.#limits;
    let storedBytes = 0;
    const reservations = this.#reservations;
    const reservation = {
      id: this.newPlanId(),
      by,
      bytes: 0,
      isStored: false,
      grow(bytes: number): void {
        reservation.bytes = bytes;
        let handedOver = 0;
        for (const one of reservations) if (one.by === by && !one.isStored) handedOver += one.bytes;
        if (storedBytes + handedOver > maxBytes) {
          throw limited(`more than ${maxBytes} bytes of plans and files (http.planBytesPerCaller)`);
        }
      },
      release: () => void reservations.delete(reservation),
    };
    // Counted from here on: of two requests at once each sees the other.
    reservations.add(reservation);
    try {
      await this.sweep();
      const stored = [...(await this.#stored())].filter(([, plan]) => plan.by === by);
      storedBytes = stored.reduce((sum, [, { bytes }]) => sum + bytes, 0);
      const handedOver = [...reservations].filter((one) => one.by === by && !one.isStored).length;
      if (stored.length + handedOver > maxPlans) {
        const oldest = stored.toSorted(([, a], [, b]) => a.expiresAtMs - b.expiresAtMs)[0];
        const first = oldest === undefined ? "" : `; the oldest is ${oldest[0]}`;
        const retryAfterMs = oldest === undefined ? minuteMs : oldest[1].expiresAtMs + graceMs - this.#clock.wallMs();
        throw limited(`more than ${maxPlans} plans and files (http.plansPerCaller)${first}`, retryAfterMs);
      }
      reservation.grow(0);
      return reservation;
    } catch (thrown) {
      reservation.release();
      throw thrown;
    }
  }

  /** Takes a plan in, and the file that it was made of. */
  async put(plan: Omit<StoredPlan, "expiresAtMs">, uploadId?: string): Promise<StoredPlan> {
    const { from, plan: _, ...rest } = plan;
    const expiresAtMs = this.#clock.wallMs() + keepMs;
    const kept = "filter" in from ? { where: from.filter.text } : { where: null, isEncrypted: this.#spool.encrypts };
    const written: Written = { ...rest, expiresAtMs, ...kept };
    await this.#spool.open();
    // The rows first: a plan that can be found has them.
    if ("path" in from) await rename(from.path, this.#path(plan.planId, "csv"));
    await replaceFile(this.#path(plan.planId, "json"), JSON.stringify(written), { mode: 0o600 });
    for (const reservation of this.#reservations) if (reservation.id === uploadId) reservation.isStored = true;
    return { ...plan, expiresAtMs };
  }

  /** @throws SimfleetError NOT_FOUND */
  async get(planId: string): Promise<StoredPlan> {
    const written = await this.#written(planId);
    if (written === undefined || written.expiresAtMs <= this.#clock.wallMs()) throw missing(planId);
    const { where, isEncrypted = false, ...rest } = written;
    const path = this.#path(planId, "csv");
    return { ...rest, from: where === null ? this.#spool.inputFile(path, isEncrypted) : { filter: filterIn(where) } };
  }

  /** Has a plan read; its files stay meanwhile, also when it expires. @throws SimfleetError NOT_FOUND */
  async use<T>(planId: string, read: (plan: StoredPlan) => Promise<T>): Promise<T> {
    this.#used.set(planId, (this.#used.get(planId) ?? 0) + 1);
    try {
      return await read(await this.get(planId));
    } finally {
      const left = (this.#used.get(planId) ?? 1) - 1;
      if (left === 0) this.#used.delete(planId);
      else this.#used.set(planId, left);
    }
  }

  /** Removes a plan, be it expired or not. @throws SimfleetError NOT_FOUND when there is none */
  async remove(planId: string): Promise<void> {
    if ((await this.#written(planId)) === undefined) throw missing(planId);
    await this.#removeFiles(planId);
  }

  /** Removes the plans that have expired. */
  async sweep(): Promise<void> {
    const nowMs = this.#clock.wallMs();
    for (const [planId, { expiresAtMs }] of await this.#stored()) {
      if (expiresAtMs + graceMs <= nowMs && !this.#used.has(planId)) await this.#removeFiles(planId);
    }
  }

  /**
   * The rows of a plan with their verdicts. They are classified once, and later pages show them as they were then.
   * @param classify yields all of them, in order
   * @throws SimfleetError REQUEST_INVALID on a cursor that is none
   */
  async rows(
    planId: string,
    query: { verdict?: string | undefined; limit: number; cursor?: string | undefined },
    classify: () => Promise<AsyncIterable<PlanRow>>,
  ): Promise<{ rows: PlanRow[]; nextCursor: string | null }> {
    const path = this.#path(planId, "rows");
    await this.#write(path, classify);
    const start = await startOf(path, query.cursor);
    const rows: PlanRow[] = [];
    for await (const { line, at } of linesOf(path, start)) {
      if (rows.length === query.limit || at - start > maxScanned) return { rows, nextCursor: String(at) };
      const row = JSON.parse(line) as PlanRow;
      if (query.verdict === undefined || row.verdict === query.verdict) rows.push(row);
    }
    return { rows, nextCursor: null };
  }

  /** Shared by concurrent callers. */
  async #write(path: string, classify: () => Promise<AsyncIterable<PlanRow>>): Promise<void> {
    if (await stat(path).catch(() => undefined)) return;
    let writing = this.#writing.get(path);
    if (writing === undefined) {
      writing = writeLines(path, classify).finally(() => this.#writing.delete(path));
      this.#writing.set(path, writing);
    }
    await writing;
  }

  /** Every plan in the spool, expired or not. */
  async #stored(): Promise<Map<string, Stored>> {
    const stored = new Map<string, Stored>();
    for (const name of await readdir(this.#spool.path("")).catch(() => [])) {
      const [, planId] = /^(.+)\.json$/.exec(name) ?? [];
      const written = planId === undefined ? undefined : await this.#written(planId);
      if (planId === undefined || written === undefined) continue;
      const sizes = kinds.map((kind) =>
        stat(this.#path(planId, kind)).then(
          ({ size }) => size,
          () => 0,
        ),
      );
      const bytes = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
      stored.set(planId, { by: written.by, expiresAtMs: written.expiresAtMs, bytes });
    }
    return stored;
  }

  /** Undefined where there is none. */
  async #written(planId: string): Promise<Written | undefined> {
    if (!/^p-[a-z0-9-]{1,40}$/.test(planId)) return undefined;
    const text = await textOf(this.#path(planId, "json")).catch(() => undefined);
    try {
      return text === undefined ? undefined : (JSON.parse(text) as Written);
    } catch {
      return undefined; // it is just being written, or a process died over it
    }
  }

  async #removeFiles(planId: string): Promise<void> {
    for (const kind of kinds) await this.#spool.remove(this.#path(planId, kind));
  }

  #path(planId: string, kind: string): string {
    return this.#spool.path(`${planId}.${kind}`);
  }
}

function missing(planId: string): SimfleetError {
  return new SimfleetError(
    "NOT_FOUND",
    `There is no plan ${planId}: a plan is kept for an hour, by the worker that created it. Create a new plan`,
  );
}

function limited(what: string, retryAfterMs: number = minuteMs): SimfleetError {
  const message = `You would have ${what} at this worker. Delete plans with DELETE /v1/plans/ID, or wait until they expire, an hour after their creation`;
  return new SimfleetError("PLAN_LIMIT", message, { retryAfterMs: Math.max(1_000, retryAfterMs) });
}

function filterIn(text: string): Filter {
  return text === "" ? { text, conditions: [] } : parseFilter(text);
}

async function textOf(path: string): Promise<string> {
  const file = await openFile(path, { links: "refuse" });
  try {
    return await file.readFile("utf8");
  } finally {
    await file.close();
  }
}

async function writeLines(path: string, classify: () => Promise<AsyncIterable<PlanRow>>): Promise<void> {
  const rows = await classify();
  const text = async function* (): AsyncGenerator<string> {
    for await (const row of rows) yield `${JSON.stringify(row)}\n`;
  };
  await replaceFile(path, text(), { mode: 0o600 });
}

/** The place that a cursor names: the beginning of a line. @throws SimfleetError REQUEST_INVALID */
async function startOf(path: string, cursor: string | undefined): Promise<number> {
  if (cursor === undefined || cursor === "0") return 0;
  const start = /^[1-9]\d{0,14}$/.test(cursor) ? Number(cursor) : Number.NaN;
  const file = await openFile(path, { links: "refuse" });
  try {
    const { size } = await file.stat();
    if (start <= size) {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(1), 0, 1, start - 1);
      if (bytesRead === 1 && buffer[0] === 10) return start;
    }
  } finally {
    await file.close();
  }
  throw new SimfleetError(
    "REQUEST_INVALID",
    `${JSON.stringify(cursor)} is not a valid cursor: use the nextCursor of the previous page`,
  );
}

/** The lines of a file from one place on, each with the place where it begins. */
async function* linesOf(path: string, start: number): AsyncGenerator<{ line: string; at: number }> {
  let rest = Buffer.alloc(0);
  let at = start;
  const file = await openFile(path, { links: "refuse" });
  for await (const chunk of file.createReadStream({ start })) {
    rest = Buffer.concat([rest, chunk as Buffer]);
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
      yield { line: rest.toString("utf8", 0, end), at };
      at += end + 1;
      rest = rest.subarray(end + 1);
    }
  }
}
