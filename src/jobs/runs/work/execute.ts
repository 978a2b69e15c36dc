/**
 * Processes one segment of a run: the rows without an outcome, several at a time. Each row is settled in the ledger as soon
 * as its response is known. Returns the result as a value. Retries of single rows are handled here and in the ledger's
 * tries; waits of more than about two seconds go back to the queue, so that they do not occupy a worker slot.
 *
 * When a process has died with the segment, one of the rows in progress may have killed it. These are the first of the pending
 * rows, so the next process tries at least as many alone, one after the other, and the rest together. A row that kills three
 * processes while it is tried alone is quarantined; no other row is.
 */
import { backoffMs } from "#core/backoff.ts";
import { SimfleetError } from "#core/errors.ts";
import { quarantined, quarantineReason, type PoisonGuard } from "#engine/poison-guard.ts";
import {
  type FieldChange,
  type SimOperation,
  type SimChange,
  changesOf,
  simChangeOf,
} from "#fleet/sim-operation/sim-operation.ts";
import { fieldInputOf, type Inventory } from "#jobs/inventory/store/inventory.ts";
import type { ShownSim, SegmentState } from "../ledger/settlement.ts";
import {
  type FieldValues,
  type Settled,
  type StoredRow,
  type Tries,
  doubtOf,
  operationOf,
  isCallable,
} from "../ledger/packing.ts";
import type { CallOptions } from "#api/client-options.ts";
import { hasSecrets } from "../sealed-inputs.ts";
import { makeCall } from "./row-call.ts";
import type { LostRow } from "./lost-call.ts";
import { NotSent, UnsafeCalls } from "./unsafe-calls.ts";
import type { JobResult } from "#engine/queue/job-result.ts";
import type { SegmentReference, TryResult } from "./row-attempt.ts";
import { OutcomeWriter } from "./outcome-writer.ts";
import type { Account } from "#api/account.ts";
import type { Clock } from "#core/time.ts";
import type { RunWatch } from "./run-watch.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { RunRecord } from "../ledger/run-record.ts";
import { beforeOf } from "../plan/classify.ts";

/** A row fails after this many calls without a usable response. */
const maxAttempts = 10;
const retryBackoff = { baseMs: 400, capMs: 60_000 };
/** Number of consecutive calls without a usable response that ends the pass; the platform is the problem, not the row. */
const outageAfterFailures = 20;
const sleepInPlaceMs = 2_000;
const refusalPauseMs = 30_000;
/** At least so many rows are tried alone, so that deaths that no row has caused fall on different ones. */
const minSuspects = 16;

/**
 * @param signal aborts when this process stops or has lost the job; no new call is made then
 * @throws errors of the ledger; the queue then retries the segment
 */
export async function execute(
  reference: SegmentReference,
  context: JobContext,
  signal: AbortSignal,
): Promise<JobResult> {
  const work = await context.watch.enter(reference.runId);
  if (work === undefined) {
    await packIfSettled(reference, context);
    return { kind: "parked" };
  }
  if (work === "yielding") {
    const reason = "it waits for calls in flight of an older run that sets the same fields";
    await context.ledger.recordProblem(reference.runId, { message: reason, delayMs: sleepInPlaceMs, isExpected: true });
    return { kind: "postponed", delayMs: sleepInPlaceMs, scope: "job", reason };
  }
  const { halt, leave } = work;
  try {
    const run = await context.ledger.run(reference.runId);
    const isOver = AbortSignal.any([signal, halt]);
    return await workOff(await SegmentWork.load(run, reference, context, isOver), context.clock, isOver);
  } finally {
    await leave();
  }
}

/** The process that settled the last row of a run may have died before it packed the segment. */
async function packIfSettled({ runId, segment }: SegmentReference, { ledger }: JobContext): Promise<void> {
  if ((await ledger.state(runId)) === "completed") await ledger.finishSegment(await ledger.run(runId), segment);
}

async function workOff(work: SegmentWork, clock: Clock, signal: AbortSignal): Promise<JobResult> {
  for (;;) {
    const result = await work.pass();
    if (result !== undefined) return result;
    const delayMs = work.backoffMs();
    if (delayMs > sleepInPlaceMs) {
      return { kind: "postponed", delayMs, scope: "job", reason: "rows without a usable response are tried again" };
    }
    await clock.sleep(delayMs, signal).catch(() => undefined);
  }
}

class SegmentWork {
  readonly #run: RunRecord;
  readonly #segment: number;
  readonly #context: JobContext;
  readonly #signal: AbortSignal;
  readonly #outcomeWriter: OutcomeWriter;
  readonly #tries: Map<number, Tries>;
  /** Rows that were open when the work on the segment started. */
  readonly #open: OpenRows;
  readonly #pending = new Map<number, StoredRow>();
  readonly #unsafe: UnsafeCalls;
  /** How many processes have died with the segment; 0 once this one has tried the suspects. */
  #deaths: number;
  readonly #callOptions: CallOptions;
  #doneBefore: number;
  #incident = 0;
  #stop: JobResult | undefined;

  private constructor(deps: {
    run: RunRecord;
    segment: number;
    open: OpenRows;
    context: JobContext;
    signal: AbortSignal;
    deaths: number;
  }) {
    const { run, segment, open, context, signal } = deps;
    this.#open = open;
    this.#run = run;
    this.#segment = segment;
    this.#context = context;
    this.#signal = signal;
    this.#tries = new Map(open.state.tries);
    this.#doneBefore = run.tally.done;
    context.watch.observe(run.runId, "running", run.tally.pending);
    this.#outcomeWriter = new OutcomeWriter({ ...context, run, segment });
    this.#unsafe = new UnsafeCalls({ ...context, runId: run.runId, segment, tries: this.#tries, signal });
    this.#deaths = deps.deaths;
    const { callsPerMinute } = run.options;
    this.#callOptions = {
      backlog: () => context.watch.pendingOf(run.runId),
      signal,
      // A user waits for a run of one row, such as a retry.
      urgency: run.total === 1 ? "priority" : "normal",
      beforeSending: () => this.#assertHeld(),
      ...(callsPerMinute === undefined ? {} : { pace: { id: run.runId, callsPerMinute } }),
    };
    for (const [place, row] of open.rows) this.#pending.set(place, row);
  }

  static async load(
    run: RunRecord,
    { segment, deaths = 0 }: SegmentReference,
    context: JobContext,
    signal: AbortSignal,
  ): Promise<SegmentWork> {
    const open = await claimOpenRows(run, segment, context);
    return new SegmentWork({ run, segment, open, context, signal, deaths });
  }

  /** Delay before the next pass, based on the remaining row with the most attempts. */
  backoffMs(): number {
    const attempts = this.#dueRows().map(([place]) => this.#tries.get(place)?.attempts ?? 0);
    return backoffMs(retryBackoff, Math.max(1, ...attempts));
  }

  /** The pending rows, except those whose record is read again later; those with the fewest attempts first. */
  #dueRows(): [number, StoredRow][] {
    const nowMs = this.#context.clock.wallMs();
    const attempts = (place: number): number => this.#tries.get(place)?.attempts ?? 0;
    return [...this.#pending]
      .filter(([place]) => (this.#tries.get(place)?.readAtMs ?? 0) <= nowMs)
      .toSorted(([a], [b]) => attempts(a) - attempts(b));
  }

  /** Attempts each pending row that is due once; returns undefined if rows that are worth another pass are left. */
  async pass(): Promise<JobResult | undefined> {
    this.#stop = undefined;
    this.#incident = 0;
    const due = this.#dueRows();
    const ended = await Promise.allSettled([this.#trySuspects(due)]);
    const rows = due.values();
    const lanes = Array.from({ length: Math.min(this.#context.lanes, due.length) }, () =>
      this.#lane(rows, (place, row) => this.#attempt(place, row)),
    );
    ended.push(...(await Promise.allSettled(lanes)));
    await this.#outcomeWriter.flush();
    const failed = ended.find((lane) => lane.status === "rejected");
    if (failed !== undefined) throw failed.reason;
    if (this.#pending.size === 0) return this.#finish();
    if (this.#outcomeWriter.state !== "running") return { kind: "parked" };
    if (this.#signal.aborted) return { kind: "handed-back" };
    return this.#stop ?? this.#waitForRecords();
  }

  /** The result if all rows that are left wait for their records; undefined if another row is left. */
  #waitForRecords(): JobResult | undefined {
    if (this.#dueRows().length > 0) return undefined;
    const times = [...this.#pending.keys()].map((place) => this.#tries.get(place)?.readAtMs ?? 0);
    const delayMs = Math.max(1, Math.min(...times) - this.#context.clock.wallMs());
    return {
      kind: "postponed",
      delayMs,
      scope: "job",
      reason: "waiting to read the result of calls whose responses were lost",
    };
  }

  async #finish(): Promise<JobResult> {
    const isFinished = await this.#context.ledger.finishSegment(this.#run, this.#segment);
    if (!isFinished) {
      throw new SimfleetError("INTERNAL", `Rows of run ${this.#run.runId} have no outcome (segment ${this.#segment})`);
    }
    return { kind: "finished", hasEndedWave: this.#outcomeWriter.hasEndedWave };
  }

  /** Takes the rows out of `due` that may have killed a process. Each death starts with another one, in case none has. */
  async #trySuspects(due: [number, StoredRow][]): Promise<void> {
    if (this.#deaths === 0) return;
    const { guard, ledger } = this.#context;
    const { runId } = this.#run;
    const suspects = due.splice(0, Math.max(this.#context.lanes, minSuspects));
    suspects.push(...suspects.splice(0, this.#deaths % Math.max(1, suspects.length)));
    const message = `a worker crashed or stood still while it processed rows of this run (${this.#deaths} in all): they are tried one at a time`;
    await ledger.recordProblem(runId, { message, delayMs: 0 });
    await this.#lane(suspects.values(), async (place, row) => {
      const name = `run ${runId}, line ${row.line}`;
      const end = await guard.runAlone(name, async () => {
        if (this.#mayContinue) await this.#attempt(place, row);
      });
      if (end === quarantined) await this.#quarantine(place, row);
    });
    if (this.#mayContinue) this.#deaths = 0;
  }

  get #mayContinue(): boolean {
    return this.#stop === undefined && !this.#signal.aborted && this.#outcomeWriter.state === "running";
  }

  async #lane(
    rows: Iterator<readonly [number, StoredRow]>,
    attempt: (place: number, row: StoredRow) => Promise<void>,
  ): Promise<void> {
    while (this.#mayContinue) {
      const outageMs = this.#context.watch.outageMs(this.#run.runId);
      if (outageMs > 0) return this.#stopWith(untilOutageEnds(outageMs));
      const next = rows.next();
      if (next.done) return;
      const [place, row] = next.value;
      await attempt(place, row);
    }
  }

  async #attempt(place: number, row: StoredRow): Promise<void> {
    await this.#take(place, row, await this.#try(place, row));
  }

  async #quarantine(place: number, row: StoredRow): Promise<void> {
    const tries = this.#tries.get(place);
    const outcome = tries?.sentAtMs === undefined ? "failed" : "unknown";
    const message = `line ${row.line}, SIM ${row.key}: ${quarantineReason}`;
    await this.#context.ledger.recordProblem(this.#run.runId, { message, delayMs: 0, event: "run.row-quarantined" });
    await this.#settle(place, row, { outcome, reason: `${quarantineReason}${doubtOf(tries)}` }, "no-call");
  }

  async #try(place: number, row: StoredRow): Promise<TryResult> {
    const operation = operationOf(this.#run, row);
    const account = this.#context.accountFor(this.#run.profile);
    const lost = (): LostRow => ({ operation, row, before: this.#valuesBefore(place, row), account });
    if (row.onlyIf !== undefined && !this.#unsafe.wasSent(place)) {
      const present = await this.#context.inventory.sim(this.#run.profile, row.key);
      const changed = row.onlyIf.find(([field, value]) => (fieldInputOf(present, field) ?? null) !== value);
      if (changed !== undefined) {
        return { kind: "skipped", reason: noLonger(changed, fieldInputOf(present, changed[0])) };
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
      if (this.#unsafe.wasSent(place)) return await this.#unsafe.settle(place, lost());
      const inputs = hasSecrets(operation) ? await this.#context.openInputs(operation, row.inputs) : row.inputs;
      const result = await makeCall(
        account,
        { operation, row: { key: row.key, inputs }, changes: this.#changesOf(place) },
        options,
      );
      return isSafe ? result : await this.#unsafe.after(place, result, lost());
    } catch (thrown) {
      // Stopped while waiting for a permit: nothing was sent now. A call in flight ends with its response.
      if (thrown instanceof NotSent) return thrown.result;
      if (!this.#signal.aborted) throw thrown;
      return {
        kind: "postponed",
        delayMs: 1,
        scope: "job",
        wasRateLimited: false,
        isProblem: false,
        reason: "stopped while it waited for the quota",
      };
    }
  }

  /** After this process stood still, a newer run may have superseded the row. @throws NotSent */
  #assertHeld(): Promise<void> {
    if (!this.#signal.aborted && this.#context.watch.isHeld(this.#run.runId)) return Promise.resolve();
    return Promise.reject(new NotSent("this process stood still, or the run has stopped", { isProblem: false }));
  }

  async #take(place: number, row: StoredRow, result: TryResult): Promise<void> {
    switch (result.kind) {
      case "done":
        this.#doneBefore += 1;
        this.#noteAnswered();
        return this.#settle(place, row, { outcome: "done", reason: this.#noteOfDone(place), ...result });
      case "already":
        this.#noteAnswered();
        // An earlier call of this row, whose response was lost, may have made it so.
        return this.#tries.get(place)?.unknownSinceMs === undefined
          ? this.#settle(place, row, { outcome: "skipped", reason: result.reason, isAnswered: true })
          : this.#settle(place, row, { outcome: "done", reason: this.#noteOfDone(place) });
      case "skipped":
        return this.#settle(place, row, { outcome: "skipped", ...result }, "no-call");
      case "lost":
        if (result.outcome === "done") this.#noteAnswered();
        else await this.#noteLost(result.reason);
        return this.#settle(place, row, { outcome: result.outcome, reason: result.reason });
      case "rejected":
        this.#noteAnswered();
        return this.#settle(place, row, { outcome: "rejected", ...result });
      case "postponed":
        if (result.wasRateLimited) this.#outcomeWriter.countCall(result);
        if (result.isProblem) await this.#recordProblem(result.reason, result.delayMs);
        return this.#stopWith({ ...result, kind: "postponed" });
      case "refused":
        this.#outcomeWriter.countCall({ wasRateLimited: false });
        // If other rows were allowed, a forbidden row is a problem of that row only.
        if (result.error.code === "PLATFORM_FORBIDDEN" && this.#doneBefore > 0) {
          return this.#settle(place, row, { outcome: "rejected", reason: result.error.message }, "counted");
        }
        await this.#recordProblem(result.error.message, refusalPauseMs);
        return this.#stopWith({
          kind: "postponed",
          delayMs: refusalPauseMs,
          scope: "job",
          reason: result.error.message,
          refusal: result.error,
        });
      case "waiting":
        return this.#unsafe.readLater(place, result.delayMs);
      case "unknown":
      case "failed-try":
        return this.#tryAgain(place, row, result);
    }
  }

  async #tryAgain(
    place: number,
    row: StoredRow,
    result: { kind: "unknown" | "failed-try"; reason: string },
  ): Promise<void> {
    const before = this.#tries.get(place);
    const attempts = (before?.attempts ?? 0) + 1;
    const unknownSinceMs =
      before?.unknownSinceMs ?? (result.kind === "unknown" ? this.#context.clock.wallMs() : undefined);
    const tries: Tries = {
      attempts,
      reason: result.reason,
      ...(unknownSinceMs === undefined ? {} : { unknownSinceMs }),
    };
    this.#incident += 1;
    if (attempts >= maxAttempts) {
      return this.#settle(place, row, { outcome: "failed", reason: `gave up: ${result.reason}${doubtOf(tries)}` });
    }
    this.#outcomeWriter.countCall({ wasRateLimited: false });
    this.#tries.set(place, tries);
    const isPlatformDown = this.#incident >= outageAfterFailures;
    const delayMs = isPlatformDown ? Math.max(sleepInPlaceMs, this.backoffMs()) : this.backoffMs();
    await Promise.all([
      this.#context.ledger.recordTries(this.#run.runId, this.#segment, new Map([[place, tries]]), before?.owner),
      this.#recordProblem(result.reason, delayMs),
    ]);
    if (isPlatformDown) this.#stopWith({ kind: "postponed", delayMs, scope: "job", reason: result.reason });
  }

  /** While the platform is down, no further rows of the run are sent that would end as unknown. */
  async #noteLost(reason: string): Promise<void> {
    const delayMs = this.#context.watch.noteLost(this.#run.runId);
    if (delayMs === 0) return;
    await this.#recordProblem(reason, delayMs);
    this.#stopWith(untilOutageEnds(delayMs));
  }

  #noteAnswered(): void {
    this.#incident = 0;
    this.#context.watch.noteAnswered(this.#run.runId);
  }

  /** Records for display why the run makes no progress, and until when. */
  #recordProblem(message: string, delayMs: number): Promise<void> {
    return this.#context.ledger.recordProblem(this.#run.runId, { message, delayMs });
  }

  #noteOfDone(place: number): string {
    return this.#tries.get(place)?.unknownSinceMs === undefined ? "" : "a response was lost; the change was sent again";
  }

  async #settle(
    place: number,
    row: StoredRow,
    end: { outcome: Settled["outcome"]; reason: string; shown?: ShownSim; isAnswered?: true },
    call: "counted" | "to-count" | "no-call" = "to-count",
  ): Promise<void> {
    if (call === "to-count") this.#outcomeWriter.countCall({ wasRateLimited: false });
    const attempts = this.#tries.get(place)?.attempts ?? 0;
    await this.#outcomeWriter.settle({
      shown: end.shown,
      set: this.#changesOf(place).map(([field]) => field),
      basisMs: this.#open.changedAtMs.get(row.key),
      ...(end.isAnswered === true ? { isAnswered: true } : {}),
      place,
      key: row.key,
      weight: row.weight,
      settled: {
        outcome: end.outcome,
        reason: end.reason,
        previous: this.#valuesBefore(place, row),
        attempts: call === "no-call" ? attempts : attempts + 1,
        finishedAtMs: this.#context.clock.wallMs(),
      },
    });
    this.#pending.delete(place);
  }

  /**
   * The inventory's current values are more recent than those at submission, unless they are the requested ones: after a
   * crash a sync may have seen this very change before the run could settle it.
   */
  #valuesBefore(place: number, row: StoredRow): FieldValues {
    const present = this.#open.before.get(place);
    if (present === undefined || row.before === undefined) return row.before ?? present;
    return this.#changesOf(place).every(([, after], i) => after === present[i]) ? row.before : present;
  }

  #changesOf(place: number): readonly FieldChange[] {
    return this.#open.changes.get(place) ?? [];
  }

  /** The longest of several delays applies. */
  #stopWith(result: JobResult & { kind: "postponed" }): void {
    const { kind, delayMs, scope, reason, refusal } = result;
    const isLonger = this.#stop?.kind !== "postponed" || this.#stop.delayMs < delayMs;
    if (isLonger) this.#stop = { kind, delayMs, scope, reason, ...(refusal === undefined ? {} : { refusal }) };
  }
}

function untilOutageEnds(delayMs: number): JobResult & { kind: "postponed" } {
  return { kind: "postponed", delayMs, scope: "job", reason: "the responses to too many calls in a row were lost" };
}

// What the work on a segment uses; shared by all segments of a process.

/** Dependencies of a segment's work. */
interface JobContext {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly inventory: Inventory;
  readonly accountFor: (profile: string) => Account;
  /** Shared by all segments of this process. */
  readonly watch: RunWatch;
  /** Finds a row that kills its worker. */
  readonly guard: Pick<PoisonGuard, "runAlone">;
  /** Opens the sealed ones among the inputs of a row. */
  readonly openInputs: (operation: SimOperation, inputs: readonly string[]) => Promise<readonly string[]>;
  /** Rows in progress at once in one segment. */
  readonly lanes: number;
}

// The rows of a segment that have no outcome yet: what they change, and what the inventory knows of their SIMs.

interface OpenRows {
  readonly state: SegmentState;
  /** Rows that make a call and have no outcome yet, by position. */
  readonly rows: readonly (readonly [place: number, row: StoredRow])[];
  /** Changes of each row, by place. */
  readonly changes: ReadonlyMap<number, readonly FieldChange[]>;
  /** Values of the fields that each row sets, by place, as the inventory has them now. */
  readonly before: ReadonlyMap<number, FieldValues>;
  /** When the inventory had last changed each SIM, by key; SIMs that it does not know are absent. */
  readonly changedAtMs: ReadonlyMap<string, number>;
}

/** Reads the open rows of a segment, and claims their SIMs for the run. */
async function claimOpenRows(
  run: RunRecord,
  segment: number,
  { ledger, inventory }: { readonly ledger: Ledger; readonly inventory: Inventory },
): Promise<OpenRows> {
  const state = await ledger.segment(run, segment);
  const rows = [...state.rows.entries()].filter(([place, row]) => isCallable(row) && !state.settled.has(place));
  const claims = new Map<string, SimChange>();
  const changes = new Map<number, readonly FieldChange[]>();
  for (const [place, row] of rows) {
    const operation = operationOf(run, row);
    const change = changesOf(operation, row.key, row.inputs);
    changes.set(place, change);
    if (change.length > 0) claims.set(row.key, joined(claims.get(row.key), simChangeOf(operation, change)));
  }
  const [known, facts] = await Promise.all([
    inventory.lookUp(
      run.profile,
      rows.map(([, { key }]) => key),
    ),
    inventory.facts(run.profile),
    ledger.claim(run, claims),
  ]);
  const before = new Map(
    rows.map(([place], i) => [place, beforeOf(changes.get(place) ?? [], known[i], facts)] as const),
  );
  const changedAtMs = new Map(
    rows.flatMap(([, { key }], i) => {
      const sim = known[i];
      return sim === undefined ? [] : [[key, sim.updatedAtMs] as const];
    }),
  );
  return { state, rows, changes, before, changedAtMs };
}

/** A SIM can have several rows, such as one for each tag. */
function joined(before: SimChange | undefined, { set, fields }: SimChange): SimChange {
  if (before === undefined) return { set, fields };
  return { set: [...before.set, ...set], fields: new Map([...before.fields, ...fields]) };
}

/** Why a row is left alone whose SIM has changed since. */
function noLonger([field, expected]: FieldChange, present: string | undefined): string {
  const text = (value: string | null): string => (value === null ? `no ${field}` : value);
  return `left unchanged: it has ${text(present ?? null)} now, not ${text(expected)} from the run`;
}
