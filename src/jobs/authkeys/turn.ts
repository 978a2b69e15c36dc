/** One step of an AuthKey rotation: the record as it was read, the step's dependencies, and the ways to end the step. */
import { backoffMs } from "#core/backoff.ts";
import { ConfigError, PlatformError, SimfleetError } from "#core/errors.ts";
import { scrubSecrets } from "#core/scrub-secrets.ts";
import type { Secret } from "#core/secret.ts";
import type { MoveEvent } from "#engine/move-record.ts";
import { nextProblem } from "#engine/problem.ts";
import type { Sink } from "#fleet/rotation.ts";
import type { AuthKeyChange, AuthKeyRotation, AuthKeyRotations } from "./record.ts";
import type { AuthKeyUsers } from "./users.ts";
import type { Seal } from "#engine/seal.ts";
import type { WorkResult } from "#engine/queue/job-result.ts";
import type { AuthKey, AuthKeyAccount, CreatedAuthKey } from "./account.ts";

export interface AuthKeyDeps {
  readonly rotations: Pick<AuthKeyRotations, "record" | "move" | "nowMs">;
  readonly users: Pick<AuthKeyUsers, "list">;
  readonly seal: Pick<Seal, "seal" | "open">;
  readonly account: Pick<AuthKeyAccount, "list" | "create" | "revoke" | "prove">;
  readonly sinks: readonly Sink[];
  /** How long the old AuthKey must be unused before it is revoked. */
  readonly quietMs: number;
  /** The AuthKey that this process authenticates with, after reloading changed secret files. */
  readonly inUseHere: () => string | undefined;
  /** @throws SimfleetError SINK_FAILED; the signal's reason */
  readonly handOver: (sink: Sink, what: HandedKey, signal: AbortSignal) => Promise<void>;
}

/** The AuthKey that a sink receives. */
export interface HandedKey {
  readonly profile: string;
  readonly rotationId: string;
  readonly startedAtMs: number;
  readonly key: CreatedAuthKey;
}

/** Result of a step: read the record again and continue, or stop working on the rotation for now. */
export type Next = "again" | WorkResult;

const faultBackoff = { baseMs: 1_000, capMs: 60_000 };
const refusalPauseMs = 30_000;
/** Maximum clock difference that is assumed between the platform and Redis. */
const clockDoubtMs = 300_000;

export class Turn {
  readonly record: AuthKeyRotation;
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

  /** Makes a transition; if another process was faster, the next step reads the new state from the record. */
  async to(change: AuthKeyChange, ...events: readonly MoveEvent[]): Promise<Next> {
    await this.deps.rotations.move(this.record, change, { events });
    return "again";
  }

  /** Continues later, and records what the rotation waits for. */
  async wait(delayMs: number, words: string, more: AuthKeyChange & { refusal?: PlatformError } = {}): Promise<Next> {
    const { refusal, ...change } = more;
    const reason = scrubSecrets(words);
    const isOver = this.record.problem !== undefined && change.problem === undefined;
    if (reason !== this.record.waitsFor || isOver || Object.keys(change).length > 0) {
      await this.deps.rotations.move(this.record, { waitsFor: reason, problem: undefined, ...change });
    }
    return { kind: "postponed", delayMs, scope: "job", reason, ...(refusal === undefined ? {} : { refusal }) };
  }

  /** Retries the step after a delay that grows with its failures. */
  retry(reason: string, leastMs = 0): Promise<Next> {
    const delayMs = Math.max(leastMs, backoffMs(faultBackoff, this.record.tries + 1));
    return this.#waitAfterFault(delayMs, reason);
  }

  async #waitAfterFault(delayMs: number, reason: string, refusal?: PlatformError): Promise<Next> {
    const failure = { message: scrubSecrets(reason), nowMs: await this.deps.rotations.nowMs(), delayMs };
    const change = { tries: this.record.tries + 1, problem: nextProblem(this.record.problem, failure) };
    return this.wait(delayMs, reason, refusal === undefined ? change : { ...change, refusal });
  }

  /** Rolls the rotation back to the old AuthKey. */
  takeBack(words: string): Promise<Next> {
    const { phase, oldId } = this.record;
    const reason = scrubSecrets(words);
    if (phase !== "begun") return this.to({ phase: "taking-back", reason });
    return this.to(...failed(reason, oldId));
  }

  /**
   * Revokes an AuthKey, unless this or another live process uses it.
   * @returns `stays` if the platform still lists it
   * @throws PlatformError
   */
  async revokeUnused(authKeyId: string): Promise<"gone" | "used" | "stays"> {
    if (this.deps.inUseHere() === authKeyId) return "used";
    const reply = await this.deps.rotations.move(this.record, {}, { unused: authKeyId });
    if (reply !== "moved") return reply === "used" ? "used" : "stays";
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

  /** Decides how the rotation continues after a fault; rethrows faults that it cannot handle. */
  afterFault(fault: unknown): Promise<Next> | Next {
    if (this.signal.aborted) return { kind: "handed-back" };
    if (fault instanceof PlatformError) return this.#afterRefusal(fault);
    const isPassing =
      fault instanceof SimfleetError && (fault.code === "SINK_FAILED" || fault.code === "SEAL_DECRYPTION_FAILED");
    if (isPassing) return this.retry(fault.message);
    // For example, the deployment defines no path for a sub-user's AuthKeys.
    if (fault instanceof ConfigError && this.record.phase === "begun") return this.takeBack(fault.message);
    throw fault;
  }

  #afterRefusal(fault: PlatformError): Promise<Next> {
    const { phase, tries } = this.record;
    const isBeforeAnything = phase === "begun" || phase === "making-room";
    switch (fault.code) {
      case "PLATFORM_THROTTLED":
        return this.wait(fault.retryAfterMs ?? 1_000, fault.message);
      case "PLATFORM_UNAVAILABLE":
        return this.retry(fault.message, fault.retryAfterMs);
      case "PLATFORM_UNAUTHORIZED":
      case "PLATFORM_FORBIDDEN":
        if (isBeforeAnything || (phase === "creating" && tries > 0)) return this.takeBack(fault.message);
        return this.#waitAfterFault(refusalPauseMs, fault.message, fault);
      default:
        // The platform can reject a creation because an earlier one, whose response was lost, took the slot: check once more.
        if (isBeforeAnything || (phase === "creating" && tries > 0)) return this.takeBack(fault.message);
        return this.retry(fault.message);
    }
  }
}

/** The final transition of a rotation that failed. */
export function failed(reason: string, oldId: string | undefined): [AuthKeyChange, MoveEvent] {
  return [
    { phase: "failed", reason, finishedAtMs: "now", sealed: undefined },
    { type: "authkey.failed", fields: { authKeyId: oldId ?? "", reason } },
  ];
}

export function revoked(authKeyId: string, reason: "rotated" | "replaced" | "lost" | "taken-back"): MoveEvent {
  return { type: "authkey.revoked", fields: { authKeyId, reason } };
}
