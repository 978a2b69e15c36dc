/**
 * A rotation while one process works on it: the last saved record, and the dependencies of the steps. Every transition is
 * saved before the next step starts; if another process has moved the rotation on, this one stops working on it.
 */
import { scrubSecrets } from "#core/scrub-secrets.ts";
import type { Clock } from "#core/time.ts";
import { nextProblem } from "#engine/problem.ts";
import type { Rotation } from "#fleet/rotation.ts";
import type { MoveEvent } from "#engine/move-record.ts";
import {
  isRotationOver,
  type RotationChange,
  type RotationLog,
  type RotationRecord,
  type RotationWait,
} from "../record.ts";
import type { Seal, SealedFields } from "#engine/seal.ts";
import { AccountSets, type RotationAccount } from "../account-sets.ts";
import { forgetAll } from "./new-secret.ts";
import type { SinkDeps } from "../sinks.ts";

/** Dependencies of the work on rotations. */
export interface RotationContext {
  readonly log: RotationLog;
  readonly seal: Seal;
  readonly clock: Clock;
  readonly sinkDeps: SinkDeps;
  /** Undefined if it is no longer configured. */
  readonly rotationOf: (name: string) => Rotation | undefined;
  /** The rotations of a profile. */
  readonly rotationsOf: (profile: string) => readonly Rotation[];
  readonly accountFor: (profile: string) => RotationAccount;
}

/** Another process has changed the record. */
export class MovedByAnother extends Error {}

export class Turn {
  record: RotationRecord;
  readonly rotation: Rotation;
  readonly context: RotationContext;
  readonly account: RotationAccount;
  readonly sets: AccountSets;
  readonly signal: AbortSignal;
  #opened: SealedFields | undefined;

  constructor(deps: { record: RotationRecord; rotation: Rotation; context: RotationContext; signal: AbortSignal }) {
    this.record = deps.record;
    this.rotation = deps.rotation;
    this.context = deps.context;
    this.signal = deps.signal;
    this.account = deps.context.accountFor(deps.record.profile);
    this.sets = new AccountSets(this.account, deps.signal);
  }

  get nowMs(): number {
    return this.context.clock.wallMs();
  }

  get isOver(): boolean {
    return isRotationOver(this.record);
  }

  /** Saves a transition and clears what was waited for. @throws MovedByAnother */
  move(change: RotationChange, events: readonly MoveEvent[] = []): Promise<void> {
    const isState = change.state !== undefined;
    return this.#save(
      {
        ...{ waitsFor: undefined, reason: undefined, problem: undefined, nextAtMs: 0, tries: 0 },
        ...(isState ? { movedAtMs: this.nowMs } : {}),
        ...change,
      },
      events,
    );
  }

  /**
   * Saves the time at which the current state is polled again.
   * @param events emitted unless the rotation already waited for this
   */
  wait(
    {
      waitsFor,
      reason,
      delayMs,
      ...more
    }: { waitsFor: RotationWait; reason: string; delayMs: number } & RotationChange,
    events: readonly MoveEvent[] = [],
  ): Promise<void> {
    const clean = scrubSecrets(reason);
    const isKnown = this.record.waitsFor === waitsFor && this.record.reason === clean;
    const { nowMs } = this;
    const nextAtMs = nowMs + Math.max(1, Math.ceil(delayMs));
    const failure = { message: clean, nowMs, delayMs };
    const problem = waitsFor === "fault" ? nextProblem(this.record.problem, failure) : undefined;
    return this.#save({ ...more, waitsFor, reason: clean, nextAtMs, problem }, isKnown ? [] : events);
  }

  /** Gives up, and rolls back what can be rolled back. */
  giveUp(reason: string): Promise<void> {
    return this.move({ state: "rolling-back", reason: scrubSecrets(reason) });
  }

  async #save(change: RotationChange, events: readonly MoveEvent[]): Promise<void> {
    const saved = await this.context.log.move(this.record, change, events);
    if (saved === undefined) throw new MovedByAnother();
    this.record = saved;
  }

  /**
   * The secret, decrypted once. It stays registered for redaction until `release`, because errors in between may contain the
   * secret as echoed by the platform or a sink, and are stored in the record and reported.
   * @throws SimfleetError SEAL_DECRYPTION_FAILED
   */
  async secrets(): Promise<SealedFields> {
    const { rotationId, sealed } = this.record;
    if (sealed === undefined) throw new Error(`the sealed secret of ${rotationId} vanished`);
    this.#opened ??= await this.context.seal.open(rotationId, sealed);
    return this.#opened;
  }

  /** Forgets the secret. */
  release(): void {
    if (this.#opened !== undefined) forgetAll(this.#opened);
    this.#opened = undefined;
  }
}
