/**
 * The ledger: the record of every run and the only source of truth for the outcome of a row. The queue holds only jobs,
 * which can be rebuilt from the ledger at any time. A row gets its outcome exactly once (settle.lua); every other
 * operation may be repeated. An incomplete submission, and a plan that is not started, leave only keys that expire.
 */
import { randomUUID } from "node:crypto";
import type { Redis } from "ioredis";
import { SimfleetError } from "#core/errors.ts";
import { keepAnswers } from "#core/kept.ts";
import { secondMs } from "#core/time.ts";
import { encodeName, encodeValue } from "#fleet/sim/field-text.ts";
import { type RunState, isRunOver } from "#fleet/run.ts";
import type { SimChange } from "#fleet/sim-operation/sim-operation.ts";
import { Script } from "#redis/script.ts";
import { inventoryScriptParts } from "#jobs/inventory/store/inventory.ts";
import { type InventoryKeys, inventoryKeys } from "#jobs/inventory/store/keys.ts";
import { type RunKeys, runKeys } from "./keys.ts";
import type { Kernel } from "#kernel/kernel.ts";
import type { StoreDeps } from "#engine/move-record.ts";
import type { WaveCheck } from "../contract.ts";
import { inventoryOf, readSharing, type Sharing } from "#engine/sharing.ts";
import {
  type Settled,
  type Settlement,
  type StoredRow,
  type Tries,
  encodeSettlement,
  indexesOf,
  packOutcomes,
  packRows,
  unpackOutcomes,
  unpackRows,
} from "./packing.ts";
import {
  type RowGroup,
  type RunHead,
  type RunRecord,
  alreadyTaken,
  takenPrefix,
  assertHasRows,
  decodeRecord,
  decodeStatus,
  encodeHead,
  leaseMs,
  moveRule,
  startOf,
  statusFields,
} from "./run-record.ts";

/** Loads a script that changes a run's state and may write the SIM of a response to the inventory. */
function runScript(...names: readonly string[]): Script {
  return Script.load(...inventoryScriptParts, scriptFile("emit-run.lua"), ...names.map(scriptFile));
}

function scriptFile(name: string): URL {
  return new URL(`./scripts/${name}`, import.meta.url);
}

const settleScript = runScript("settle.lua");
const endWaveScript = runScript("end-wave.lua");
const moveScript = runScript("start-run.lua", "move-run.lua");
const commitScript = runScript("start-run.lua", "commit-run.lua");
const problemScript = runScript("record-run-problem.lua");
const holdScript = Script.load(scriptFile("hold-run.lua"));
const readScript = Script.load(scriptFile("read-run.lua"));
const markScript = Script.load(scriptFile("mark-sent.lua"));
const recordTriesScript = Script.load(scriptFile("record-tries.lua"));
const lockScript = Script.load(scriptFile("lock-sims.lua"));
const finishScript = Script.load(scriptFile("finish-segment.lua"));
const draftSeconds = 3_600;
const readAtOnce = 100;
/** A run without progress for this long counts as stalled. */
const stalledAfterMs = 10_000;

/** Fields of a plan that is kept, with its `entry` among the plans of its owner: `expiry bytes owner`. */
interface PlanToKeep extends Readonly<Record<"text" | "entry" | "uploadId", string>> {
  readonly ttlMs: number;
}

/** Why a run currently makes no progress. */
interface RunProblem {
  readonly message: string;
  /** Delay until the next attempt. */
  readonly delayMs: number;
  /** Intended, as with a freeze: the run does not count as stalled. */
  readonly isExpected?: boolean;
  /** Emitted with the problem. */
  readonly event?: "run.row-quarantined";
}

type LedgerDeps = StoreDeps & Pick<Kernel, "clock"> & Partial<Pick<Kernel, "replicated">>;

export type SegmentState = Readonly<Awaited<ReturnType<Ledger["segment"]>>>;

export class Ledger {
  readonly #deps: LedgerDeps;
  readonly #redis: Redis;
  readonly #keys: RunKeys;
  readonly #inventoryKeys: InventoryKeys;
  readonly #sharing: () => Promise<Sharing>;

  constructor(deps: LedgerDeps) {
    this.#deps = deps;
    this.#redis = deps.redis;
    this.#keys = runKeys(deps.keys);
    this.#inventoryKeys = inventoryKeys(deps.keys);
    // Read once a second: a run at full speed writes outcomes a hundred times as often.
    const kept = keepAnswers<Sharing>(deps.clock, secondMs);
    this.#sharing = () => kept("", () => readSharing(deps));
  }

  /** Stores a segment of a run that is being submitted; it expires unless the run is committed within the hour. */
  async draftSegment(draftId: string, segment: number, rows: readonly StoredRow[]): Promise<void> {
    const key = this.#keys.draft(draftId);
    const packed = await packRows(rows);
    failOnAny(await this.#redis.multi().hset(key, String(segment), packed).expire(key, draftSeconds).exec());
  }

  /** Reads back a segment of a draft, to write it again. @throws SimfleetError STORE_UNAVAILABLE if it has expired */
  async draftedSegment(draftId: string, segment: number, firstRow: number): Promise<StoredRow[]> {
    const packed = await this.#redis.hgetBuffer(this.#keys.draft(draftId), String(segment));
    if (packed === null) throw expired(draftId);
    return unpackRows(packed, firstRow);
  }

  /** The planned runs, newest first. */
  async planned(): Promise<RunRecord[]> {
    const ids = await this.#redis.hkeys(this.#keys.plans());
    return (await this.read(ids.toSorted().toReversed())).filter(({ state }) => state === "planned");
  }

  /**
   * Commits a run: from now on it is listed and its rows are processed. If a run with this id exists already, it is
   * kept and the draft is deleted.
   * @param draftId id under which the rows were drafted; undefined: those of the plan to start
   * @param how `takes`: rows that only one run may take from the run that this one retries or undoes; `plan`: what is
   *   kept with a plan, which replaces one with this id and expires unless it is started; `start`: the run is a plan,
   *   which is kept if it cannot be started
   * @returns `exists` if there already was a run with this id, `expired` if there is no such plan anymore
   * @throws SimfleetError STORE_UNAVAILABLE if a segment of the draft has expired; RUN_STATE_CONFLICT if another run
   *   has taken some of these rows
   */
  async commit(
    head: RunHead,
    state: RunState,
    draftId: string | undefined,
    { takes = [], plan }: { readonly takes?: readonly RowGroup[]; readonly plan?: PlanToKeep | "start" } = {},
  ): Promise<"committed" | "exists" | "expired"> {
    const { runId, segments, createdAtMs, submittedBy = "" } = head;
    const sourceId = head.retryOf ?? head.undoOf ?? "";
    const input = this.#keys.input(runId);
    const draft = draftId === undefined ? input : this.#keys.draft(draftId);
    // The same for a repeated command only.
    const attempt = draftId === undefined ? randomUUID() : draft;
    const keys = [this.#keys.run(runId), draft, input, this.#keys.runs(), this.#deps.keys.events(), this.#keys.plans()];
    if (takes.length > 0) keys.push(this.#keys.run(sourceId));
    const fields = Object.entries({
      ...encodeHead(head),
      ...startOf(head, state),
      ...(typeof plan === "object" && { plan: plan.text }),
    }).flat();
    const { ttlMs, entry, uploadId } = typeof plan === "object" ? plan : { ttlMs: plan ?? "", entry: "", uploadId: "" };
    const args = [runId, segments.length, createdAtMs, this.#deps.bounds.maxEvents, submittedBy, attempt];
    args.push(ttlMs, entry, uploadId, takes.length, ...takes.map((group) => takenPrefix + group));
    const reply = (await commitScript.run(this.#redis, keys, [...args, ...fields])) as
      | "committed"
      | "exists"
      | "expired"
      | [field: string, by: string];
    if (reply === "expired" && plan !== "start") throw expired(runId);
    if (typeof reply === "string") return reply;
    throw alreadyTaken(sourceId, reply[0].slice(takenPrefix.length), reply[1]);
  }

  /** Deletes drafts. */
  async discard(...draftIds: readonly string[]): Promise<void> {
    await this.#redis.unlink(...draftIds.map((draftId) => this.#keys.draft(draftId)));
  }

  /** @throws SimfleetError RUN_NOT_FOUND */
  async run(runId: string): Promise<RunRecord> {
    const [run] = await this.read([runId]);
    if (run !== undefined) return run;
    throw new SimfleetError("RUN_NOT_FOUND", `There is no run ${runId}; list the runs with: simfleet runs list`);
  }

  /** Reads runs in the order of the ids, a hundred at a time; ids without a run are left out. */
  async read(runIds: readonly string[]): Promise<RunRecord[]> {
    const runs: RunRecord[] = [];
    for (let at = 0; at < runIds.length; at += readAtOnce) {
      const some = runIds.slice(at, at + readAtOnce);
      const keys = some.flatMap((runId) => [this.#keys.run(runId), this.#keys.leases(runId)]);
      const heads = (await readScript.run(this.#redis, keys, [leaseMs])) as [string[], number][];
      for (const [pairs, hands] of heads) {
        const hash = fromPairs(pairs);
        if (hash.state !== undefined) runs.push(decodeRecord(hash, hands));
      }
    }
    return runs;
  }

  /**
   * The runs, newest first.
   * @param after ID of the last one that the caller has seen; default none
   * @throws SimfleetError REQUEST_INVALID if there is no such run
   */
  async *newest(after?: string, atOnce = readAtOnce): AsyncGenerator<RunRecord> {
    let ids = after === undefined ? [] : [after];
    do {
      let rank = ids.length === 0 ? -1 : null;
      // The last of them may have been deleted meanwhile.
      for (const id of ids.toReversed()) rank ??= await this.#redis.zrevrank(this.#keys.runs(), id);
      if (rank === null) throw invalidCursor(after);
      ids = await this.#redis.zrevrange(this.#keys.runs(), rank + 1, rank + atOnce);
      yield* await this.read(ids);
    } while (ids.length === atOnce);
  }

  /** Runs that were submitted before an instant, in ms since the epoch, oldest first. They may be removed meanwhile. */
  async *createdBefore(beforeMs: number): AsyncGenerator<RunRecord> {
    const ids = await this.#redis.zrangebyscore(this.#keys.runs(), "-inf", `(${beforeMs}`);
    for (let at = 0; at < ids.length; at += readAtOnce) yield* await this.read(ids.slice(at, at + readAtOnce));
  }

  /** The runs of a profile's account, or of all, that have started and are not over. */
  async active(profile?: string, but: ReadonlySet<string> = new Set()): Promise<RunRecord[]> {
    const ids = (await this.#redis.smembers(this.#keys.started())).filter((runId) => !but.has(runId));
    const runs = await this.read(ids.toSorted());
    const owners = new Map(Object.entries(await this.#redis.hgetall(this.#deps.keys.quotaOwners())));
    const ownerOf = (name: string): string => owners.get(name) ?? name;
    const isMeant = (run: RunRecord): boolean => profile === undefined || ownerOf(run.profile) === ownerOf(profile);
    return runs.filter((run) => !isRunOver(run.state) && isMeant(run));
  }

  /** The runs that have yet to supersede rows, this one included, before it may make a call. */
  async blocking(runId: string): Promise<RunRecord[]> {
    const ids = await this.#redis.smembers(this.#keys.yields(runId));
    const runs = await this.read([runId, ...ids]);
    const blocking = runs.filter(({ supersedes }) => supersedes.length > 0);
    // Those that were deleted.
    const others = ids.filter((id) => !blocking.some((run) => run.runId === id));
    if (others.length > 0) await this.#redis.srem(this.#keys.yields(runId), others);
    return blocking;
  }

  /** Records that a run has superseded what it had to: it and the others may make calls. */
  async endSuperseding({ runId, supersedes }: Pick<RunRecord, "runId" | "supersedes">): Promise<void> {
    const ending = this.#redis.multi().hdel(this.#keys.run(runId), "supersedes");
    for (const older of supersedes) ending.srem(this.#keys.yields(older), runId);
    failOnAny(await ending.exec());
  }

  /** The running runs, newest first. */
  async running(but?: ReadonlySet<string>): Promise<RunRecord[]> {
    return (await this.active(undefined, but)).filter(({ state }) => state === "running").toReversed();
  }

  /** State and tally of the last thousand runs. */
  async statuses(): Promise<Pick<RunRecord, "state" | "tally">[]> {
    const ids = await this.#redis.zrevrange(this.#keys.runs(), 0, 999);
    const reads = ids.map((runId) => this.#redis.hmget(this.#keys.run(runId), ...statusFields));
    return (await Promise.all(reads)).map(decodeStatus).filter((status) => status !== undefined);
  }

  /** The indexes of a SIM's rows in a run, in order. */
  async rowsOf(run: RunHead, key: string): Promise<number[]> {
    const found: number[] = [];
    for (const [segment, { firstRow }] of run.segments.entries()) {
      const packed = await this.#redis.hgetBuffer(this.#keys.input(run.runId), String(segment));
      if (packed !== null) found.push(...indexesOf(key, packed, firstRow));
    }
    return found;
  }

  /** A segment of a run, as a worker reads it: outcomes and attempts by position. */
  async segment(run: RunHead, segment: number) {
    const keys = this.#keys;
    const [input, packed, open, tries] = await Promise.all([
      this.#redis.hgetBuffer(keys.input(run.runId), String(segment)),
      this.#redis.hgetBuffer(keys.finished(run.runId), String(segment)),
      this.#redis.hgetall(keys.outcomes(run.runId, segment)),
      this.#redis.hgetall(keys.tries(run.runId, segment)),
    ]);
    if (input === null) {
      assertHasRows(await this.run(run.runId));
      throw new SimfleetError("INTERNAL", `Rows of run ${run.runId} are missing in Redis (segment ${segment})`);
    }
    // The segment was packed between the two reads: its outcomes are now only in the packed form.
    const late = packed ?? (await this.#redis.hgetBuffer(keys.finished(run.runId), String(segment)));
    return {
      rows: unpackRows(input, run.segments[segment]?.firstRow ?? 0),
      settled: late ? unpackOutcomes(late) : mapValues<Settled>(open),
      tries: mapValues<Tries>(tries),
    };
  }

  /** Numbers of the finished segments. */
  async finishedSegments(runId: string): Promise<Set<number>> {
    return new Set((await this.#redis.hkeys(this.#keys.finished(runId))).map(Number));
  }

  /** Number of rows without an outcome; 0 if the run is gone. */
  async pending(runId: string): Promise<number> {
    return decodeStatus(await this.#redis.hmget(this.#keys.run(runId), ...statusFields))?.tally.pending ?? 0;
  }

  async state(runId: string): Promise<RunState | "gone"> {
    return ((await this.#redis.hget(this.#keys.run(runId), "state")) ?? "gone") as RunState | "gone";
  }

  /**
   * Acquires or renews leases on the run: call it before work starts, and again every few seconds. An aborted or
   * cancelled run is reported as ending until all leases are released, since calls may be in flight.
   * @param hands ids of the leases, unique per worker and run; new ones are granted only while the run is running
   * @returns the run's state, `yielding` until an overlap with another run is settled; unless it is `running`, no work
   *   may start
   */
  async hold(runId: string, hands: readonly string[]): Promise<RunState | "gone" | "yielding"> {
    const keys = [this.#keys.run(runId), this.#keys.leases(runId), this.#keys.yields(runId)];
    return (await holdScript.run(this.#redis, keys, [leaseMs, ...hands])) as RunState | "gone" | "yielding";
  }

  /** Releases a lease; call it when every outcome is written. */
  async release(runId: string, hand: string): Promise<void> {
    await this.#redis.hdel(this.#keys.leases(runId), hand);
  }

  /**
   * Records which SIMs a run is about to change, and to which values, until each has its outcome. A sync that sees such
   * a change before the run has settled it can then attribute it to the run. Locks of the run's other rows are kept.
   * @param changes by SIM
   */
  async lock(run: Pick<RunHead, "runId" | "profile">, changes: ReadonlyMap<string, SimChange>): Promise<void> {
    if (changes.size === 0) return;
    const locks = [...changes].flatMap(([key, change]) => {
      const lines = Array.from(change, ([name, value]) => `${encodeName(name)}${value ? encodeValue(value) : ""}`);
      return [key, lines.join("\n")];
    });
    const name = await inventoryOf(this.#deps, run.profile);
    await lockScript.run(this.#redis, [this.#inventoryKeys.locks(name)], [run.runId, ...locks]);
  }

  /**
   * Writes outcomes (the first outcome of a row is final) and updates the run's state (see settle.lua).
   * @param counts `newer`: the run that supersedes these rows, if one does
   * @returns `hasEndedWave`: the wave of the segment has ended: the next one, or its check, needs jobs
   */
  async settle(
    run: Pick<RunHead, "runId" | "profile">,
    segment: number,
    settlements: readonly Settlement[],
    { calls, throttled, newer = "" }: { calls: number; throttled: number; newer?: string },
  ) {
    const { runId, profile } = run;
    const args: (string | number)[] = [this.#deps.clock.wallMs(), segment, calls, throttled];
    args.push(profile, this.#deps.bounds.maxEvents, runId, newer);
    for (const settlement of settlements) args.push(encodeSettlement(settlement));
    // Not that of the plan: the profile may have come to share another since.
    const name = (await this.#sharing()).nameOf(profile);
    const keys = [...this.#segmentKeys(runId, segment), ...this.#inventoryKeys.ofScripts(name)];
    const [state, pending, ended] = (await settleScript.run(this.#redis, keys, args)) as [
      RunState | "gone",
      number,
      number,
    ];
    return { state, pending, hasEndedWave: ended === 1 };
  }

  /**
   * Stores attempts that did not settle a row, so that counting continues after a restart. A row that other work has
   * marked as sent keeps its mark.
   * @param owner owner of the mark that the caller has read or written; default none
   */
  async recordTries(runId: string, segment: number, tries: ReadonlyMap<number, Tries>, owner: string | undefined = "") {
    const fields = [...tries].flatMap(([place, entry]) => [place, JSON.stringify(entry)]);
    await recordTriesScript.run(this.#redis, [this.#keys.tries(runId, segment)], [owner, ...fields]);
  }

  /**
   * Marks a row as sent; must be called right before a call that is unsafe to repeat leaves.
   * @returns false if the row is marked or settled already, or the run is not running: the call must not be made
   * @throws NotReplicatedError the row is marked, but a failover or a power failure would lose the mark: make no call
   */
  async markSent(runId: string, segment: number, { place, tries }: { place: number; tries: Tries }): Promise<boolean> {
    const keys = this.#segmentKeys(runId, segment);
    const args = [segment, place, JSON.stringify(tries)];
    const marked = this.#deps.replicated?.run(markScript, keys, args) ?? markScript.run(this.#redis, keys, args);
    return (await marked) === 1;
  }

  /** Segments with rows that were tried and have no outcome, or had none when they were tried. */
  async triedSegments({ runId, segments }: RunHead): Promise<number[]> {
    const reads = segments.map((_, segment) => this.#redis.exists(this.#keys.tries(runId, segment)));
    return (await Promise.all(reads)).flatMap((found, segment) => (found === 1 ? [segment] : []));
  }

  /** Records that all sent rows of a run that is over have an outcome. */
  async noteSentSettled(runId: string): Promise<void> {
    await this.#redis.hset(this.#keys.run(runId), "areSentSettled", 1);
  }

  /** Records why no row of the run can be processed; the problem lasts until the next usable response. */
  async recordProblem(runId: string, { message, delayMs, isExpected = false, event }: RunProblem): Promise<void> {
    const keys = [this.#keys.run(runId), this.#deps.keys.events()];
    const nowMs = this.#deps.clock.wallMs();
    const args = [nowMs, message, Math.ceil(nowMs + delayMs), runId, this.#deps.bounds.maxEvents];
    await problemScript.run(this.#redis, keys, [...args, isExpected ? "" : stalledAfterMs, event ?? ""]);
  }

  /** Packs the outcomes of a segment if all its rows are settled; returns false otherwise. */
  async finishSegment({ runId, segments }: RunHead, segment: number): Promise<boolean> {
    const outcomes = await this.#redis.hgetall(this.#keys.outcomes(runId, segment));
    const keys = [...this.#segmentKeys(runId, segment).slice(1), this.#keys.run(runId)];
    const callable = segments[segment]?.callable ?? 0;
    const args = [segment, Object.keys(outcomes).length, await packOutcomes(outcomes), callable];
    return (await finishScript.run(this.#redis, keys, args)) === 1;
  }

  /**
   * Changes the state of a run and emits the event.
   * @param options `by`: who does it
   * @throws SimfleetError RUN_NOT_FOUND, or RUN_STATE_CONFLICT if its state is not in `from`
   */
  async move(
    runId: string,
    to: RunState,
    from: readonly RunState[],
    options: { readonly reason?: string; readonly by?: string } = {},
  ): Promise<void> {
    const { reason = "", by = "" } = options;
    const before = await moveScript.run(
      this.#redis,
      [this.#keys.run(runId), this.#deps.keys.events()],
      [to, this.#deps.clock.wallMs(), reason, runId, this.#deps.bounds.maxEvents, by, ...from],
    );
    if (before === "gone") await this.run(runId);
    if (!from.includes(before as RunState)) {
      throw new SimfleetError("RUN_STATE_CONFLICT", `Run ${runId} is ${String(before)}; ${moveRule(to, from)}`);
    }
  }

  /** Notes which SIMs met the gate after a run's present wave: 1, or 0. @returns all that were noted within the hour */
  async noteGate({ runId, wave }: RunRecord, isMet: Record<string, 0 | 1> = {}): Promise<Record<string, string>> {
    const key = this.#keys.gate(runId, wave);
    const isEmpty = Object.keys(isMet).length === 0;
    if (!isEmpty) failOnAny(await this.#redis.multi().hset(key, isMet).expire(key, draftSeconds).exec());
    return this.#redis.hgetall(key);
  }

  /** Ends the soak of a wave and opens the next. @param reason why the run pauses before that; empty: it continues */
  async endWave({ runId, wave }: RunRecord, check: WaveCheck | undefined, reason: string): Promise<void> {
    const keys = [this.#keys.run(runId), this.#deps.keys.events(), this.#keys.finished(runId)];
    const found = check === undefined ? "" : JSON.stringify(check);
    await endWaveScript.run(this.#redis, keys, [wave, found, reason, runId, this.#deps.bounds.maxEvents]);
  }

  #segmentKeys(runId: string, segment: number): string[] {
    const keys = this.#keys;
    return [keys.run(runId), keys.outcomes(runId, segment), keys.tries(runId, segment), keys.finished(runId)];
  }
}

/** The cursor of a page that was never returned, or whose run was deleted. */
export function invalidCursor(cursor: string | undefined): SimfleetError {
  return new SimfleetError(
    "REQUEST_INVALID",
    `${JSON.stringify(cursor)} is not a valid cursor: use the nextCursor of the previous page`,
  );
}

/** Rows of a draft have expired. */
function expired(runId: string): SimfleetError {
  return new SimfleetError(
    "STORE_UNAVAILABLE",
    `Rows of run ${runId} expired before the run was complete: submit it again`,
  );
}

// Replies of Redis as values.

/** Converts the flat field-value list that scripts return. */
function fromPairs(flat: readonly string[]): Record<string, string> {
  const hash: Record<string, string> = {};
  for (let at = 0; at < flat.length; at += 2) hash[flat[at] ?? ""] = flat[at + 1] ?? "";
  return hash;
}

/** A hash of JSON by row. */
function mapValues<T>(hash: Readonly<Record<string, string>>): Map<number, T> {
  return new Map(Object.entries(hash).map(([place, text]) => [Number(place), JSON.parse(text) as T]));
}

/** ioredis returns a transaction's failures as values; this throws the first one. */
function failOnAny(replies: [Error | null, unknown][] | null): void {
  const failed = replies === null ? new Error("the transaction was refused") : replies.find(([error]) => error)?.[0];
  if (failed) throw failed;
}
