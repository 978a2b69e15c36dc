/**
 * Plans: what a run of drafted rows would do, with warnings and the time that its calls take, as far as simfleet has
 * stored it. A plan is a draft that is kept for an hour, until it is started. It is in Redis, so any worker shows and
 * starts it, and expires there. The number and bytes of one caller's plans are limited, uploads in progress included.
 */
import { randomUUID } from "node:crypto";
import { SimfleetError } from "#core/errors.ts";
import { isoTime, minuteMs } from "#core/time.ts";
import type { Filter } from "#fleet/filter.ts";
import { Script } from "#redis/script.ts";
import type { Kernel } from "#kernel/kernel.ts";
import type { PlanDocument, PlanReport } from "../contract.ts";
import { type RunKeys, runKeys } from "../ledger/keys.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { RowGroup, RunHead, RunRecord } from "../ledger/run-record.ts";
import { maxDangerous } from "../submit.ts";
import type { KnownFleet } from "./classify.ts";
import type { Draft } from "./draft.ts";
import { type Forecast, aheadOf } from "./forecast.ts";
import type { SomeRows } from "./tally.ts";

const keepMs = 60 * minuteMs;

const reserveScript = Script.load(new URL("./reserve-plan.lua", import.meta.url));
const removeScript = Script.load(new URL("./remove-plan.lua", import.meta.url));

/** A draft with its report. */
export interface Planned {
  readonly draft: Draft;
  readonly report: PlanReport;
  /** The number of calls that cannot be undone, as it was confirmed with the plan. */
  readonly confirm?: number | undefined;
}

/** A plan as it is kept with its run. */
interface KeptPlan extends Pick<Planned, "report" | "confirm"> {
  readonly run: RunRecord;
  readonly expiresAtMs: number;
  readonly takes: readonly RowGroup[];
}

type PlanDeps = Pick<Kernel, "redis" | "keys" | "clock" | "config"> & { readonly ledger: Ledger };

export class Plans {
  readonly #deps: PlanDeps;
  readonly #keys: RunKeys;

  constructor(deps: PlanDeps) {
    this.#deps = deps;
    this.#keys = runKeys(deps.keys);
  }

  /** @throws SimfleetError NOT_FOUND if it has expired, was started, or never was */
  async get(planId: string): Promise<KeptPlan> {
    const [run] = await this.#deps.ledger.read([planId]);
    if (run?.plan === undefined) throw missing(planId);
    return { ...(JSON.parse(run.plan) as Omit<KeptPlan, "run">), run };
  }

  /**
   * Keeps a draft as a planned run, which expires unless it is started. A plan that has this id stays.
   * @param origin `upload`: the room that was reserved for it
   * @throws SimfleetError STORE_UNAVAILABLE if a draft's segment expired; RUN_STATE_CONFLICT if the run was started
   */
  async keep(
    { draft, report, confirm }: Planned,
    { planId, by, upload }: { planId: string; by: string; upload?: { id: string; bytes: number } | undefined },
  ): Promise<PlanDocument> {
    const { ledger, clock } = this.#deps;
    const createdAtMs = clock.wallMs();
    const { id: uploadId = "", bytes = 0 } = upload ?? {};
    // Also removes what has expired.
    if (upload === undefined) await this.#reserve(planId, { by, bytes });
    const kept = { expiresAtMs: createdAtMs + keepMs, report, takes: draft.takes, confirm };
    const head = { ...draft.head, runId: planId, createdAtMs, submittedBy: by };
    const entry = `${kept.expiresAtMs} ${bytes} ${by}`;
    const plan = { text: JSON.stringify(kept), ttlMs: keepMs, entry, uploadId };
    const reply = await ledger.commit(head, "planned", draft.draftId, { plan });
    if (reply !== "exists") return toDocument(planId, kept);
    const fail = (): never => {
      throw new SimfleetError("RUN_STATE_CONFLICT", `Run ${planId} was already started`);
    };
    return this.show(planId).catch(fail);
  }

  /** @throws SimfleetError NOT_FOUND */
  async show(planId: string): Promise<PlanDocument> {
    return toDocument(planId, await this.get(planId));
  }

  /** @throws SimfleetError NOT_FOUND */
  async remove(planId: string): Promise<void> {
    const keys = this.#keys;
    const planKeys = [keys.run(planId), keys.input(planId), keys.plans()];
    if ((await removeScript.run(this.#deps.redis, planKeys, [planId])) !== 1) throw missing(planId);
  }

  /**
   * Reserves room for an upload. The caller has to release it.
   * @throws SimfleetError PLAN_LIMIT when the caller has too many plans, or too many bytes of them
   */
  async reserve(by: string) {
    const { redis, clock, config } = this.#deps;
    const { plansPerCaller, planBytesPerCaller } = config.http;
    const id = `u-${randomUUID()}`;
    let bytes = 0;
    const grow = async (more: number): Promise<void> => {
      bytes += more;
      const reply = await this.#reserve(id, { by, bytes, limits: [plansPerCaller, planBytesPerCaller] });
      if (reply[0] === "reserved") return;
      if (reply[0] === "bytes") {
        throw limited(`more than ${planBytesPerCaller} bytes of plans and files (http.planBytesPerCaller)`);
      }
      const [, oldest, oldestMs] = reply;
      const first = oldest === "" ? "" : `; the oldest is ${oldest}`;
      const what = `more than ${plansPerCaller} plans and files (http.plansPerCaller)${first}`;
      throw limited(what, oldest === "" ? minuteMs : oldestMs - clock.wallMs());
    };
    await grow(0);
    return {
      id,
      /** Bytes that have come so far. */
      get bytes(): number {
        return bytes;
      },
      /** Takes note of more bytes. @throws SimfleetError PLAN_LIMIT when they are too many */
      grow,
      /** Gives it back. */
      release: () => redis.hdel(this.#keys.plans(), id),
    };
  }

  /** @param room `limits`: none, if anything has room @returns `reserved`, or which limit its owner has reached */
  async #reserve(id: string, room: { by: string; bytes: number; limits?: readonly [number, number] }) {
    const { redis, clock } = this.#deps;
    const { by, bytes, limits = ["", ""] } = room;
    const nowMs = clock.wallMs();
    const args = [nowMs, id, nowMs + keepMs, bytes, by, ...limits];
    return (await reserveScript.run(redis, [this.#keys.plans()], args)) as
      | readonly ["reserved"]
      | readonly ["bytes"]
      | readonly ["plans", oldest: string, expiresAtMs: number];
  }
}

function toDocument(planId: string, { expiresAtMs, report }: Pick<KeptPlan, "expiresAtMs" | "report">): PlanDocument {
  return { planId, expiresAt: isoTime(expiresAtMs) ?? "", ...report };
}

export function missing(planId: string): SimfleetError {
  return new SimfleetError(
    "NOT_FOUND",
    `There is no plan ${planId}: a plan is kept for an hour, until it is started. Create a new plan`,
  );
}

function limited(what: string, retryAfterMs: number = minuteMs): SimfleetError {
  const message = `You would have ${what}. Delete plans with DELETE /v1/plans/ID, or wait until they expire, an hour after their creation`;
  return new SimfleetError("PLAN_LIMIT", message, { retryAfterMs: Math.max(1_000, retryAfterMs) });
}

// The report of a plan.

interface ReportFacts {
  readonly supersedes: PlanReport["supersedes"];
  readonly fleet: KnownFleet;
  /** Forecast of its calls. Undefined while the quota is unknown. */
  readonly forecast: Forecast | undefined;
  readonly othersPerMinute: number;
}

export async function reportOfDraft(draft: Draft, facts: ReportFacts): Promise<PlanReport> {
  const { head, origin, tally } = draft;
  const { operations, sha256, total: rows, rejectedAtIntake: problemsInAll } = head;
  const operation = maxDangerous(operations);
  const { verdicts, calls, costly, irreversible, unchangedSkipped, problems } = tally;
  const { supersedes, forecast, othersPerMinute } = facts;
  return {
    ...origin,
    sha256,
    ...changedBy(head),
    rows,
    verdicts,
    unchangedSkipped,
    calls,
    costly,
    irreversible,
    hasUndo: operation.undo !== undefined,
    estimateSeconds: forecast === undefined ? null : Math.ceil(forecast.endMs / 1_000),
    ahead: aheadOf(forecast),
    othersPerMinute: Math.round(othersPerMinute),
    waves: reportOfWaves(head),
    problems,
    problemsInAll,
    supersedes,
    warnings: [...supersedes.map(supersedesText), ...(await findWarnings(draft, facts))],
  };
}

/** Changes of a run or a draft. */
export function changedBy(head: Pick<RunHead, "profile" | "operator" | "operations" | "changes" | "segments">) {
  const { profile, operator, operations, changes = [], segments } = head;
  return {
    profile,
    operator,
    operation: maxDangerous(operations).name,
    changes,
    changesInAll: segments.reduce((sum, { callable }) => sum + callable, 0),
  };
}

/** The waves of a run, or of a draft of one. */
export function reportOfWaves(
  { options, waves }: Pick<RunHead, "options" | "waves">,
  checks: RunRecord["checks"] = [],
): PlanReport["waves"] {
  if (options.waves === undefined) return undefined;
  const { soakMs, gate, onFailure } = options.waves;
  const reads = waves.reduce((sum, { judged }) => sum + judged, 0);
  const parts = waves.map(({ calls: sims, met, judged }, i) => ({ sims, met, judged, check: checks[i] ?? null }));
  return { soakSeconds: soakMs / 1_000, gate, onFailure, reads, parts };
}

function supersedesText({ runId, sims }: PlanReport["supersedes"][number]): string {
  return sims === 1
    ? `1 SIM has a pending change in run ${runId}; it will be superseded`
    : `${sims} SIMs have pending changes in run ${runId}; they will be superseded`;
}

async function findWarnings(draft: Draft, facts: ReportFacts): Promise<string[]> {
  const { head, tally, lineOf } = draft;
  if (head.undoOf !== undefined && tally.calls === 0) {
    const reasons = tally.left.slice(0, 3).map(([reason, left]) => {
      return `${left === 1 ? "1 row" : `${left} rows`}: ${reason.replace("left unchanged: ", "")}`;
    });
    return [`nothing to restore (${reasons.join("; ")})`];
  }
  // The rows of another run have been warned of.
  if (head.retryOf !== undefined || head.undoOf !== undefined) return [];
  const { inventory, profile } = facts.fleet;
  const { known, gone, isComplete } = await inventory.facts(profile);
  const describeRows = (some: SomeRows): string => rowsText(some, lineOf);
  const warnings: string[] = [];
  // Where the platform definition lists no speed classes, one that no SIM has is most likely a typing mistake.
  for (const [speedClass, rows] of isComplete && facts.fleet.speedClasses.length === 0 ? tally.classes : []) {
    if (await someSimHas(speedClass, facts.fleet)) continue;
    warnings.push(`no SIM has the speed class ${speedClass}: ${describeRows(rows)}; check its spelling`);
  }
  // Before the first sync no SIM is known.
  if (isComplete && tally.unknown.rows > 0) warnings.push(`not in the inventory: ${describeRows(tally.unknown)}`);
  if (known + gone > 0) return warnings;
  const sync = "run simfleet sims sync";
  const [{ requires }] = head.operations;
  if (head.options.skipUnchanged === true) {
    warnings.push(`the inventory is empty, so no row is known to be unchanged: ${sync}`);
  }
  if (requires !== undefined) {
    warnings.push(`the inventory is empty, so it is not known which SIMs match ${requires}: ${sync}`);
  }
  return warnings;
}

/**
 * `3 rows (lines 4, 9, 12)`
 * @param lineOf undefined where rows have no lines
 */
function rowsText({ rows, indexes }: SomeRows, lineOf: Draft["lineOf"]): string {
  const count = `${rows} ${rows === 1 ? "row" : "rows"}`;
  if (lineOf === undefined || indexes.length === 0) return count;
  const lines = indexes.map(lineOf).join(", ");
  return `${count} (${rows === 1 ? "line" : "lines"} ${lines}${rows > indexes.length ? ", …" : ""})`;
}

async function someSimHas(speedClass: string, { inventory, profile }: KnownFleet): Promise<boolean> {
  const filter: Filter = {
    text: `speedClass=${speedClass}`,
    expression: { kind: "=", field: "speedClass", values: [speedClass] },
  };
  for await (const found of inventory.scan(profile, filter, { keyColumn: "simId" })) if (found.length > 0) return true;
  return false;
}
