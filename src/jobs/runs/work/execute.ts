/**
 * Processes one segment of a run: the rows without an outcome, several at a time. Each row is settled in the ledger
 * within milliseconds of its response. Returns the result as a value. Retries of single rows are handled here and in
 * the ledger's tries; waits of more than about 2 s go back to the queue, so that they hold no worker slot.
 *
 * When a process has died with the segment, one of the rows in progress may have killed it. These are the first of the
 * pending rows, so the next process tries at least as many alone, one after the other, and the rest together. A row
 * that kills three processes while it is tried alone is quarantined; no other row is.
 */
import { backoffMs } from "#core/backoff.ts";
import { SimfleetError } from "#core/errors.ts";
import type { RunState } from "#fleet/run.ts";
import { quarantined, quarantineReason } from "#engine/poison-guard.ts";
import { type FieldChange, type SimChange, changesOf, simChangeOf } from "#fleet/sim-operation/sim-operation.ts";
import { fieldInputOf, type Inventory } from "#jobs/inventory/store/inventory.ts";
import {
  type ShownSim,
  type Settlement,
  type FieldValues,
  type Settled,
  type Tries,
  doubtOf,
  operationOf,
  isCallable,
} from "../ledger/packing.ts";
import type { CallOptions } from "#api/client-options.ts";
import { type OpenInputs, hasSecrets } from "../sealed-inputs.ts";
import { type OpenRow, type TryResult, later, makeCall } from "./row-call.ts";
import { NotSent, UnsafeCalls } from "./unsafe-calls.ts";
import type { JobResult, Postponed } from "#engine/queue/job-result.ts";
import type { SegmentReference } from "./queue.ts";
import type { Kernel } from "#kernel/kernel.ts";
import type { RunWatch } from "./run-watch.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { RunRecord } from "../ledger/run-record.ts";
import { beforeOf, changedSince, isAlready, unchangedReason } from "../plan/classify.ts";

/** A row fails after this many calls without a usable response. */
const maxAttempts = 10;
const retryBackoff = { baseMs: 400, capMs: 60_000 };
/** Number of consecutive calls without a usable response that ends the pass: the platform is at fault, not the row. */
const outageAfterFailures = 20;
const sleepInPlaceMs = 2_000;
/** Outcomes of a segment that arrive within this time are written together, unless half of its lanes wait for that. */
const gatherMs = 20;
const refusalPauseMs = 30_000;
/** At least so many rows are tried alone, so that deaths that no row has caused fall on different ones. */
const minSuspects = 16;

/** Collaborators of the work on a segment; shared by all segments of a process. */
interface JobContext extends Pick<Kernel, "clock" | "account" | "guard"> {
  readonly ledger: Ledger;
  readonly inventory: Inventory;
  readonly watch: RunWatch;
  /** Opens the sealed ones among the inputs of a row. */
  readonly openInputs: OpenInputs;
  /** Rows in progress at once in one segment. */
  readonly lanes: number;
}

/** The work on one segment. */
interface SegmentContext extends JobContext {
  readonly run: RunRecord;
  readonly segment: number;
  readonly signal: AbortSignal;
}

/**
 * @param signal aborts when this process stops or has lost the job; no new call is made then
 * @throws errors of the ledger; the queue then retries the segment
 */
export async function execute(
  reference: SegmentReference,
  context: JobContext,
  signal: AbortSignal,
): Promise<JobResult> {
  const { ledger } = context;
  const { runId, segment } = reference;
  const work = await context.watch.enter(runId);
  if (work === undefined) {
    // The process that settled the last row of a run may have died before it packed the segment.
    if ((await ledger.state(runId)) === "completed") await ledger.finishSegment(await ledger.run(runId), segment);
    return { kind: "parked" };
  }
  if (work === "yielding") {
    const reason = "it waits for calls in flight of an older run that sets the same fields";
    await ledger.recordProblem(runId, { message: reason, delayMs: sleepInPlaceMs, isExpected: true });
    return later(sleepInPlaceMs, reason);
  }
  try {
    const isOver = AbortSignal.any([signal, work.halt]);
    const segmentContext = { ...context, run: await ledger.run(runId), segment, signal: isOver };
    const open = await lockOpenRows(segmentContext);
    return await new SegmentWork(segmentContext, open, reference.deaths).workOff();
  } finally {
    await work.leave();
  }
}

class SegmentWork {
  readonly #context: SegmentContext;
  readonly #outcomeWriter: ReturnType<typeof outcomeWriter>;
  readonly #tries: Map<number, Tries>;
  readonly #pending: Set<OpenRow>;
  readonly #unsafe: UnsafeCalls;
  /** How many processes have died with the segment; 0 once this one has tried the suspects. */
  #deaths: number;
  readonly #callOptions: CallOptions;
  #doneBefore: number;
  #lanesAtWork = 0;
  #incident = 0;
  #stop: Postponed | undefined;

  constructor(context: SegmentContext, open: Awaited<ReturnType<typeof lockOpenRows>>, deaths = 0) {
    const { run, watch, signal } = context;
    const { runId } = run;
    this.#context = context;
    this.#tries = open.tries;
    this.#pending = new Set(open.rows);
    this.#deaths = deaths;
    this.#doneBefore = run.tally.done;
    watch.observe(runId, "running", run.tally.pending);
    this.#outcomeWriter = outcomeWriter(context, () => this.#lanesAtWork);
    this.#unsafe = new UnsafeCalls({ ...context, runId, tries: this.#tries });
    const { callsPerMinute } = run.options;
    this.#callOptions = {
      backlog: () => watch.pendingOf(runId),
      signal,
      // A user waits for a run of one row, such as a retry.
      urgency: run.total === 1 ? "priority" : "normal",
      beforeSending: () => this.#assertHeld(),
      ...(callsPerMinute === undefined ? {} : { pace: { id: runId, callsPerMinute } }),
    };
  }

  async workOff(): Promise<JobResult> {
    for (;;) {
      const result = await this.#pass();
      if (result !== undefined) return result;
      const delayMs = this.#backoffMs();
      if (delayMs > sleepInPlaceMs) return later(delayMs, "rows without a usable response are tried again");
      await this.#context.clock.sleep(delayMs, this.#context.signal).catch(() => undefined);
    }
  }

  /** Delay before the next pass, based on the remaining row with the most attempts. */
  #backoffMs(): number {
    return backoffMs(retryBackoff, Math.max(1, ...this.#dueRows().map((row) => this.#countAttempts(row))));
  }

  #countAttempts({ place }: OpenRow): number {
    return this.#tries.get(place)?.attempts ?? 0;
  }

  /** The pending rows, except those whose record is read again later; those with the fewest attempts first. */
  #dueRows(): OpenRow[] {
    const nowMs = this.#context.clock.wallMs();
    return [...this.#pending]
      .filter(({ place }) => (this.#tries.get(place)?.readAtMs ?? 0) <= nowMs)
      .toSorted((a, b) => this.#countAttempts(a) - this.#countAttempts(b));
  }

  /** Attempts each pending row that is due once; returns undefined if rows that are worth another pass are left. */
  async #pass(): Promise<JobResult | undefined> {
    const { ledger, clock, signal, lanes, run, segment } = this.#context;
    this.#stop = undefined;
    this.#incident = 0;
    const due = this.#dueRows();
    const ended = await Promise.allSettled([this.#trySuspects(due)]);
    const rows = due.values();
    const inLanes = Array.from({ length: Math.min(lanes, due.length) }, () =>
      this.#lane(rows, (row) => this.#attempt(row)),
    );
    ended.push(...(await Promise.allSettled(inLanes)));
    await this.#outcomeWriter.write();
    const failed = ended.find((lane) => lane.status === "rejected");
    if (failed !== undefined) throw failed.reason;
    const hasEndedWave = this.#outcomeWriter.hasEndedWave();
    if (this.#pending.size === 0) {
      if (await ledger.finishSegment(run, segment)) return { kind: "finished", hasEndedWave };
      throw new SimfleetError("INTERNAL", `Rows of run ${run.runId} have no outcome (segment ${segment})`);
    }
    if (this.#outcomeWriter.state() !== "running") return { kind: "parked" };
    if (signal.aborted) return { kind: "handed-back" };
    if (this.#stop !== undefined || this.#dueRows().length > 0) return this.#stop;
    const times = [...this.#pending].map(({ place }) => this.#tries.get(place)?.readAtMs ?? 0);
    const delayMs = Math.max(1, Math.min(...times) - clock.wallMs());
    return later(delayMs, "waiting to read the result of calls whose responses were lost");
  }

  /** Takes rows out of `due` that may have killed a process, and tries each alone; each death starts with another. */
  async #trySuspects(due: OpenRow[]): Promise<void> {
    if (this.#deaths === 0) return;
    const { guard, lanes, run } = this.#context;
    const suspects = due.splice(0, Math.max(lanes, minSuspects));
    suspects.push(...suspects.splice(0, this.#deaths % Math.max(1, suspects.length)));
    const message = `a worker crashed or stood still while it processed rows of this run (${this.#deaths} in all): they are tried one at a time`;
    await this.#recordProblem(message, 0);
    await this.#lane(suspects.values(), async (row) => {
      const name = `run ${run.runId}, line ${row.row.line}`;
      const end = await guard.runAlone(name, async () => {
        if (this.#mayContinue) await this.#attempt(row);
      });
      if (end === quarantined) await this.#quarantine(row);
    });
    if (this.#mayContinue) this.#deaths = 0;
  }

  get #mayContinue(): boolean {
    const { state, hasFailed } = this.#outcomeWriter;
    return this.#stop === undefined && !this.#context.signal.aborted && state() === "running" && !hasFailed();
  }

  async #lane(rows: Iterator<OpenRow>, attempt: (row: OpenRow) => Promise<void>): Promise<void> {
    const { watch, run } = this.#context;
    this.#lanesAtWork += 1;
    try {
      while (this.#mayContinue) {
        const outageMs = watch.outageMs(run.runId);
        if (outageMs > 0) return this.#stopWith(untilOutageEnds(outageMs));
        const next = rows.next();
        if (next.done) return;
        await attempt(next.value);
      }
    } finally {
      this.#lanesAtWork -= 1;
    }
  }

  async #attempt(row: OpenRow): Promise<void> {
    await this.#take(row, await this.#try(row));
  }

  async #quarantine(open: OpenRow): Promise<void> {
    const tries = this.#tries.get(open.place);
    const outcome = tries?.sentAtMs === undefined ? "failed" : "unknown";
    const message = `line ${open.row.line}, SIM ${open.row.key}: ${quarantineReason}`;
    await this.#recordProblem(message, 0, { event: "run.row-quarantined" });
    await this.#settle(open, { outcome, reason: `${quarantineReason}${doubtOf(tries)}` }, "no-call");
  }

  async #try(open: OpenRow): Promise<TryResult> {
    const { place, row, operation, change } = open;
    const { inventory, openInputs, signal, run } = this.#context;
    const { profile } = run;
    const account = this.#context.account(profile);
    const wasSent = this.#unsafe.wasSent(place);
    if (open.isUnchanged && !wasSent) return { kind: "skipped", reason: unchangedReason };
    if (row.onlyIf !== undefined && !wasSent) {
      const present = await inventory.sim(profile, row.key);
      const changed = row.onlyIf.find(([field, value]) => (fieldInputOf(present, field) ?? null) !== value);
      if (changed !== undefined) {
        const now: FieldChange = [changed[0], fieldInputOf(present, changed[0]) ?? null];
        return { kind: "skipped", reason: changedSince([changed], [now]) };
      }
    }
    const isSafe = operation.repeat === "safe";
    const options = isSafe
      ? this.#callOptions
      : {
          ...this.#callOptions,
          beforeSending: () => this.#unsafe.markSent(place),
          afterUnauthorized: () => this.#unsafe.unmark(place),
        };
    try {
      if (wasSent) return await this.#unsafe.settle({ ...open, account });
      const inputs = hasSecrets(operation) ? await openInputs(operation, row.inputs) : row.inputs;
      const result = await makeCall(account, { operation, row: { key: row.key, inputs }, change }, options);
      return isSafe ? result : await this.#unsafe.after(result, { ...open, account });
    } catch (thrown) {
      // Stopped while waiting for a permit: nothing was sent now. A call in flight ends with its response.
      if (thrown instanceof NotSent) return thrown.result;
      if (!signal.aborted) throw thrown;
      return later(1, "stopped while it waited for the quota");
    }
  }

  /** After this process stood still, a newer run may have superseded the row. @throws NotSent */
  #assertHeld(): Promise<void> {
    const { signal, watch, run } = this.#context;
    if (!signal.aborted && watch.isHeld(run.runId)) return Promise.resolve();
    return Promise.reject(new NotSent("this process stood still, or the run has stopped"));
  }

  async #take(open: OpenRow, result: TryResult): Promise<void> {
    switch (result.kind) {
      case "done":
        this.#doneBefore += 1;
        this.#noteAnswered();
        return this.#settle(open, { outcome: "done", reason: this.#noteOfDone(open), ...result });
      case "already":
        this.#noteAnswered();
        // An earlier call of this row, whose response was lost, may have made it so.
        return this.#tries.get(open.place)?.unknownSinceMs === undefined
          ? this.#settle(open, { outcome: "skipped", reason: result.reason, isAnswered: true })
          : this.#settle(open, { outcome: "done", reason: this.#noteOfDone(open) });
      case "skipped":
        return this.#settle(open, { outcome: "skipped", ...result }, "no-call");
      case "lost":
        if (result.outcome === "done") this.#noteAnswered();
        else await this.#noteLost(result.reason);
        return this.#settle(open, result);
      case "rejected":
        this.#noteAnswered();
        return this.#settle(open, { outcome: "rejected", ...result });
      case "postponed": {
        const { wasRateLimited, isProblem, ...stop } = result;
        if (wasRateLimited === true) this.#outcomeWriter.countCall("throttled");
        if (isProblem === true) await this.#recordProblem(stop.reason, stop.delayMs);
        return this.#stopWith(stop);
      }
      case "refused": {
        const { error: refusal } = result;
        this.#outcomeWriter.countCall();
        // If other rows were allowed, a forbidden row is a problem of that row only.
        if (refusal.code === "PLATFORM_FORBIDDEN" && this.#doneBefore > 0) {
          return this.#settle(open, { outcome: "rejected", reason: refusal.message }, "counted");
        }
        await this.#recordProblem(refusal.message, refusalPauseMs);
        return this.#stopWith({ ...later(refusalPauseMs, refusal.message), refusal });
      }
      case "waiting":
        return this.#unsafe.readLater(open.place, result.delayMs);
      case "unknown":
      case "failed-try":
        return this.#tryAgain(open, result.kind, result.reason);
    }
  }

  async #tryAgain(open: OpenRow, kind: "unknown" | "failed-try", reason: string): Promise<void> {
    const { ledger, clock, run, segment } = this.#context;
    const { place } = open;
    const before = this.#tries.get(place);
    const attempts = this.#countAttempts(open) + 1;
    const unknownSinceMs = before?.unknownSinceMs ?? (kind === "unknown" ? clock.wallMs() : undefined);
    const tries: Tries = { attempts, reason, ...(unknownSinceMs === undefined ? {} : { unknownSinceMs }) };
    this.#incident += 1;
    if (attempts >= maxAttempts) {
      return this.#settle(open, { outcome: "failed", reason: `gave up: ${reason}${doubtOf(tries)}` });
    }
    this.#outcomeWriter.countCall();
    this.#tries.set(place, tries);
    const isPlatformDown = this.#incident >= outageAfterFailures;
    const delayMs = isPlatformDown ? Math.max(sleepInPlaceMs, this.#backoffMs()) : this.#backoffMs();
    await Promise.all([
      ledger.recordTries(run.runId, segment, new Map([[place, tries]]), before?.owner),
      this.#recordProblem(reason, delayMs),
    ]);
    if (isPlatformDown) this.#stopWith(later(delayMs, reason));
  }

  /** While the platform is down, no further rows of the run are sent that would end as unknown. */
  async #noteLost(reason: string): Promise<void> {
    const { watch, run } = this.#context;
    const delayMs = watch.noteLost(run.runId);
    if (delayMs === 0) return;
    await this.#recordProblem(reason, delayMs);
    this.#stopWith(untilOutageEnds(delayMs));
  }

  #noteAnswered(): void {
    this.#incident = 0;
    const { watch, run } = this.#context;
    watch.noteAnswered(run.runId);
  }

  /** Records for display why the run makes no progress, and until when. */
  #recordProblem(message: string, delayMs: number, more?: { readonly event: "run.row-quarantined" }): Promise<void> {
    const { ledger, run } = this.#context;
    return ledger.recordProblem(run.runId, { message, delayMs, ...more });
  }

  #noteOfDone({ place }: OpenRow): string {
    return this.#tries.get(place)?.unknownSinceMs === undefined ? "" : "a response was lost; the change was sent again";
  }

  async #settle(
    open: OpenRow,
    end: { outcome: Settled["outcome"]; reason: string; shown?: ShownSim; isAnswered?: true },
    call: "counted" | "to-count" | "no-call" = "to-count",
  ): Promise<void> {
    const { place, row, operation, change, before, basisMs } = open;
    const { outcome, reason, shown, isAnswered = false } = end;
    if (call === "to-count") this.#outcomeWriter.countCall();
    const attempts = this.#countAttempts(open) + (call === "no-call" ? 0 : 1);
    const finishedAtMs = this.#context.clock.wallMs();
    const settlement: Settlement = {
      shown,
      set: [...change.keys()],
      basisMs,
      isAnswered,
      place,
      key: row.key,
      weight: row.weight,
      settled: { outcome, reason, previous: before, attempts, finishedAtMs },
    };
    // A failure may stop the run, and what is not written of an unsafe call may end as unknown.
    const mayWait = operation.repeat === "safe" && (outcome === "done" || outcome === "skipped");
    await this.#outcomeWriter.settle(settlement, mayWait ? "soon" : "now");
    this.#pending.delete(open);
  }

  /** The longest of several delays applies. */
  #stopWith(result: Postponed): void {
    if (this.#stop === undefined || this.#stop.delayMs < result.delayMs) this.#stop = result;
  }
}

function untilOutageEnds(delayMs: number) {
  return later(delayMs, "the responses to too many calls in a row were lost");
}

/**
 * Writes outcomes to the ledger, several together, since each write costs as much as several calls. A caller waits
 * until its outcome is written, so that a crash repeats at most one call for each lane.
 * @param lanes how many callers there may be at present
 */
function outcomeWriter({ ledger, watch, clock, run, segment }: SegmentContext, lanes: () => number) {
  let open: Settlement[] = [];
  let counts = { calls: 0, throttled: 0 };
  let state: RunState | "gone" = "running";
  let hasEndedWave = false;
  let hasFailed = false;
  let written = Promise.resolve();
  /** The next write; outcomes join it until it begins. */
  let next: { readonly written: Promise<void>; readonly begin: () => void } | undefined;
  /** Writes what is open, including call counts; also refreshes the run's state. */
  const write = async (): Promise<void> => {
    const [settlements, counted] = [open, counts];
    open = [];
    counts = { calls: 0, throttled: 0 };
    next = undefined;
    const reply = await ledger.settle(run, segment, settlements, counted).catch((thrown: unknown) => {
      hasFailed = true;
      throw thrown;
    });
    state = reply.state;
    hasEndedWave ||= reply.hasEndedWave;
    watch.observe(run.runId, state, reply.pending);
  };
  const gather = () => {
    const { promise: isTime, resolve: begin } = Promise.withResolvers<void>();
    void clock.sleep(gatherMs).then(begin);
    written = Promise.all([isTime, written.catch(() => undefined)]).then(write);
    return { written, begin };
  };
  return {
    /** The run's state as last reported by the ledger. */
    state: () => state,
    hasEndedWave: () => hasEndedWave,
    /** Whether a write was refused: the segment is worth no more calls now. */
    hasFailed: () => hasFailed,
    /** Counts a call, whatever its result; the count is written with the next outcomes. */
    countCall(answer?: "throttled"): void {
      counts.calls += 1;
      if (answer === "throttled") counts.throttled += 1;
    },
    /** Resolves when the outcome is written. */
    settle(settlement: Settlement, when: "soon" | "now"): Promise<void> {
      open.push(settlement);
      next ??= gather();
      // The callers that wait here make no calls meanwhile.
      if (when === "now" || open.length >= lanes() / 2) next.begin();
      return next.written;
    },
    write,
  };
}

/** Reads the open rows of a segment, and locks their SIMs for the run. */
async function lockOpenRows({ ledger, inventory, run, segment }: SegmentContext) {
  const { rows, settled, tries } = await ledger.segment(run, segment);
  const open = [...rows.entries()].flatMap(([place, row]) => {
    if (!isCallable(row) || settled.has(place)) return [];
    const operation = operationOf(run, row);
    const changes = changesOf(operation, row.key, row.inputs);
    return [{ place, row, operation, changes, change: simChangeOf(operation, changes) }];
  });
  const locks = new Map<string, SimChange>();
  for (const { row, change } of open) {
    // A SIM can have several rows, such as one for each tag.
    if (change.size > 0) locks.set(row.key, new Map([...(locks.get(row.key) ?? []), ...change]));
  }
  const keys = open.map(({ row }) => row.key);
  const [known, facts] = await Promise.all([
    inventory.lookUp(run.profile, keys),
    inventory.facts(run.profile),
    ledger.lock(run, locks),
  ]);
  const { options, wave, waves, startedAtMs = 0 } = run;
  // All rows of a wave that others come after are sent: they show what the operation does.
  const skipsUnchanged = options.skipUnchanged === true && wave >= waves.length - 1;
  const found = open.map((one, i): OpenRow => {
    const sim = known[i];
    const present = beforeOf(one.changes, sim, facts);
    // What changed after the start may be the work of a call of this run whose process died before it was settled.
    const isOlder = !tries.has(one.place) && (sim?.updatedAtMs ?? 0) < startedAtMs;
    const isUnchanged = skipsUnchanged && isOlder && sim?.goneAtMs === undefined && isAlready(one.changes, present);
    const before = isUnchanged ? present : valuesBefore(one, present);
    return { ...one, isUnchanged, before, basisMs: sim?.updatedAtMs };
  });
  return { rows: found, tries };
}

/**
 * The inventory's current values are more recent than those at submission, unless they are the requested ones: after a
 * crash a sync may have seen this very change before the run could settle it.
 */
function valuesBefore({ row, changes }: Pick<OpenRow, "row" | "changes">, present: FieldValues): FieldValues {
  if (present === undefined || row.before === undefined) return row.before ?? present;
  return isAlready(changes, present) ? row.before : present;
}
