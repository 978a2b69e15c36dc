/** Dependencies of the steps that rotate a Credential Set. */
import type { Clock } from "#core/time.ts";
import type { PoisonGuard } from "#engine/poison-guard.ts";
import type { Seal } from "#engine/seal.ts";
import type { StepResult } from "#engine/steps.ts";
import type { Rotation } from "../config.ts";
import { AccountSets, type RotationAccount } from "../account-sets.ts";
import type { RotationChange, RotationLog, RotationRecord } from "../record.ts";
import { RotationStep } from "../rotation-machine.ts";
import type { SinkDeps } from "../sinks.ts";

/** Dependencies of the work on rotations. */
export interface RotationContext {
  readonly log: RotationLog;
  readonly seal: Seal;
  readonly clock: Clock;
  readonly guard: Pick<PoisonGuard, "run">;
  readonly sinkDeps: SinkDeps;
  /** The configured ones by name, of all profiles. */
  readonly rotations: Readonly<Record<string, Rotation>>;
  readonly accountFor: (profile: string) => RotationAccount;
}

export type RotationResult = StepResult<RotationChange>;

export class CredentialStep extends RotationStep<RotationRecord> {
  readonly rotation: Rotation;
  readonly context: RotationContext;
  readonly account: RotationAccount;
  readonly sets: AccountSets;

  constructor(record: RotationRecord, rotation: Rotation, context: RotationContext, signal: AbortSignal) {
    super(record, { seal: context.seal, move: context.log.move }, signal);
    this.rotation = rotation;
    this.context = context;
    this.account = context.accountFor(record.profile);
    this.sets = new AccountSets(this.account, signal);
  }

  get nowMs(): number {
    return this.context.clock.wallMs();
  }
}
