/**
 * What a step of a rotation works with: the record as it was saved last, and the dependencies of the steps. A step saves what
 * it has done before it continues.
 */
import type { Clock } from "#core/time.ts";
import type { MoveEvent } from "#engine/move-record.ts";
import type { PoisonGuard } from "#engine/poison-guard.ts";
import type { Seal, SealedFields } from "#engine/seal.ts";
import { MovedByAnother, type StepResult } from "#engine/steps.ts";
import type { Rotation } from "#fleet/rotation.ts";
import type { RotationChange, RotationLog, RotationRecord } from "../record.ts";
import { AccountSets, type RotationAccount } from "../account-sets.ts";
import { forgetAll } from "./new-secret.ts";
import type { SinkDeps } from "../sinks.ts";

/** Dependencies of the work on rotations. */
export interface RotationContext {
  readonly log: RotationLog;
  readonly seal: Seal;
  readonly clock: Clock;
  readonly guard: Pick<PoisonGuard, "run">;
  readonly sinkDeps: SinkDeps;
  /** Undefined if it is no longer configured. */
  readonly rotationOf: (name: string) => Rotation | undefined;
  /** The rotations of a profile. */
  readonly rotationsOf: (profile: string) => readonly Rotation[];
  readonly accountFor: (profile: string) => RotationAccount;
}

export type RotationResult = StepResult<RotationChange>;

export class StepContext {
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

  /** Saves what the step has done so far. @throws MovedByAnother */
  async save(change: RotationChange, events: readonly MoveEvent[] = []): Promise<void> {
    const entered = change.state === undefined ? {} : { movedAtMs: this.nowMs };
    const saved = await this.context.log.move(this.record, { ...entered, ...change }, events);
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

  /** Forgets the secret. Must be called when the step ends. */
  release(): void {
    if (this.#opened !== undefined) forgetAll(this.#opened);
    this.#opened = undefined;
  }
}
