/** What a step of an AuthKey rotation works with: the record as it was saved last, and the dependencies of the steps. */
import { backoffMs } from "#core/backoff.ts";
import { PlatformError } from "#core/errors.ts";
import type { Secret } from "#core/secret.ts";
import type { Clock } from "#core/time.ts";
import { retryRule } from "#engine/fault-policy.ts";
import type { MoveEvent } from "#engine/move-record.ts";
import type { PoisonGuard } from "#engine/poison-guard.ts";
import type { Seal } from "#engine/seal.ts";
import { MovedByAnother, type StepResult, wait } from "#engine/steps.ts";
import type { Sink } from "#fleet/rotation.ts";
import type { AuthKey, AuthKeyAccount, CreatedAuthKey } from "./account.ts";
import type { AuthKeyChange, AuthKeyRotation, AuthKeyRotations } from "./record.ts";
import type { AuthKeyUsers } from "#engine/authkey-users.ts";

export interface AuthKeyDeps {
  readonly rotations: Pick<AuthKeyRotations, "record" | "move" | "nowMs">;
  readonly users: Pick<AuthKeyUsers, "list">;
  readonly seal: Pick<Seal, "seal" | "open">;
  readonly account: Pick<AuthKeyAccount, "list" | "create" | "revoke" | "prove">;
  readonly sinks: readonly Sink[];
  readonly clock: Clock;
  readonly guard: Pick<PoisonGuard, "run">;
  /** How long the old AuthKey must be unused before it is revoked. */
  readonly quietMs: number;
  /** The AuthKey that this process authenticates with, after reloading changed secret files. */
  readonly inUseHere: () => string | undefined;
  /** @throws SimfleetError SINK_FAILED; the signal's reason */
  readonly handOver: (sink: Sink, key: HandedKey, signal: AbortSignal) => Promise<void>;
}

/** The AuthKey that a sink receives. */
export interface HandedKey {
  readonly profile: string;
  readonly rotationId: string;
  readonly startedAtMs: number;
  readonly key: CreatedAuthKey;
}

export type AuthKeyResult = StepResult<AuthKeyChange>;

/** Maximum clock difference that is assumed between the platform and Redis. */
const clockDoubtMs = 300_000;

export class StepContext {
  record: AuthKeyRotation;
  readonly deps: AuthKeyDeps;
  readonly signal: AbortSignal;
  #held: Secret[] = [];

  constructor(record: AuthKeyRotation, deps: AuthKeyDeps, signal: AbortSignal) {
    this.record = record;
    this.deps = deps;
    this.signal = signal;
  }

  /** Keeps a secret registered for redaction until the step ends: errors in between may contain it. */
  hold(secret: Secret): void {
    this.#held.push(secret);
  }

  /** Must be called when the step ends. */
  release(): void {
    for (const secret of this.#held) secret.forget();
    this.#held = [];
  }

  list(): Promise<AuthKey[]> {
    return this.deps.account.list(this.signal);
  }

  /** Saves a change. @throws MovedByAnother */
  async save(change: AuthKeyChange, events: readonly MoveEvent[] = []): Promise<void> {
    const moved = await this.deps.rotations.move(this.record, change, { events });
    if (typeof moved === "string") throw new MovedByAnother();
    this.record = moved;
  }

  /** Retries the step after a delay that grows with its failures, in ms at least `minMs`. */
  retry(reason: string, minMs = 0): AuthKeyResult {
    const tries = this.record.tries + 1;
    return wait({ delayMs: Math.max(minMs, backoffMs(retryRule.delay, tries)), reason, isProblem: true, tries });
  }

  /**
   * Revokes an AuthKey, unless this or another live process uses it.
   * @returns `stays` if the platform still lists it
   * @throws PlatformError
   */
  async revokeUnused(authKeyId: string): Promise<"gone" | "used" | "stays"> {
    if (this.deps.inUseHere() === authKeyId) return "used";
    const reply = await this.deps.rotations.move(this.record, {}, { unused: authKeyId });
    if (typeof reply === "string") return reply === "used" ? "used" : "stays";
    try {
      await this.deps.account.revoke(authKeyId, this.signal);
    } catch (thrown) {
      // It may have been revoked already by a request whose response was lost: check the list.
      if (!(thrown instanceof PlatformError) || thrown.code !== "PLATFORM_REJECTED") throw thrown;
    }
    const keys = await this.list();
    return keys.some((key) => key.authKeyId === authKeyId) ? "stays" : "gone";
  }

  /**
   * Whether an AuthKey must be the one whose creation response was lost: it did not exist before, was created since the
   * request, and was never used, since its secret is unknown.
   */
  isOrphan({ authKeyId, createdAtMs, lastUsedAtMs }: AuthKey): boolean {
    const { knownIds, askedAtMs, newId } = this.record;
    if (askedAtMs === undefined || newId !== undefined || knownIds.includes(authKeyId)) return false;
    return lastUsedAtMs === undefined && (createdAtMs === undefined || createdAtMs >= askedAtMs - clockDoubtMs);
  }
}

/** The last change of a rotation that failed, and its event. */
export function failed(reason: string, oldId: string | undefined): { change: AuthKeyChange; event: MoveEvent } {
  return {
    change: { phase: "failed", reason, finishedAtMs: "now", sealed: undefined },
    event: { type: "authkey.failed", fields: { authKeyId: oldId ?? "", reason } },
  };
}

export function revoked(authKeyId: string, reason: "rotated" | "replaced" | "lost" | "taken-back"): MoveEvent {
  return { type: "authkey.revoked", fields: { authKeyId, reason } };
}
