/** The front desk for AuthKeys: what a person can ask about them, the same for the command line and for HTTP. */
import { randomInt } from "node:crypto";
import { SimfleetError } from "#core/errors.ts";
import type { AuthKey } from "./account.ts";
import { obstacleOf } from "./plan.ts";
import type { ProfileJobs } from "#engine/profile-queue.ts";
import { type AuthKeyRotations, isRotationOver } from "./record.ts";
import type { AuthKeyUsers } from "./users.ts";
import { type AuthKeyReport, type AuthKeyRotationReport, reportOfKey, reportOfRotation } from "./report.ts";

interface Deps {
  readonly rotations: AuthKeyRotations;
  readonly users: AuthKeyUsers;
  readonly queues: ProfileJobs;
  /** @throws ConfigError when the deployment lacks an operation; PlatformError */
  readonly list: (profile: string) => Promise<AuthKey[]>;
  /** @throws ConfigError with everything that a rotation lacks */
  readonly requireRotation: (profile: string) => void;
  readonly inUseHere: (profile: string) => string | undefined;
  /** AuthKeys of the configuration, the preferred one first. */
  readonly configuredIds: (profile: string) => readonly string[];
}

export class AuthKeyService {
  readonly #deps: Deps;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** The AuthKeys of the user that a profile authenticates as, oldest first as the platform lists them. */
  async list(profile: string): Promise<AuthKeyReport[]> {
    const { users, rotations, configuredIds } = this.#deps;
    // The listing first: it authenticates, and says which AuthKey is in use here.
    const keys = await this.#deps.list(profile);
    const facts = {
      nowMs: await rotations.nowMs(),
      configuredIds: configuredIds(profile),
      users: await users.list(profile),
    };
    return keys.map((key) => reportOfKey(key, facts));
  }

  /**
   * What a rotation would do, before it is begun; one that is under way is what goes on.
   * @throws ConfigError with what it lacks; SimfleetError ROTATION_STATE with what stands in its way; PlatformError
   */
  async plan(profile: string, replaceId: string | undefined): Promise<{ oldId: string; goesOn: boolean }> {
    const { requireRotation, rotations, users, inUseHere } = this.#deps;
    requireRotation(profile);
    const present = await rotations.record(profile);
    if (present !== undefined && !isRotationOver(present)) {
      if (replaceId !== undefined && replaceId !== present.replaceId) {
        throw new SimfleetError(
          "ROTATION_STATE",
          `The rotation ${present.rotationId} of ${profile} is in progress and was started without --replace ${replaceId}. Wait until it ends.`,
        );
      }
      return { oldId: present.oldId ?? inUseHere(profile) ?? "", goesOn: true };
    }
    const keys = await this.#deps.list(profile);
    const oldId = inUseHere(profile);
    const status = { profile, keys, users: await users.list(profile), inUseHere: oldId, replaceId };
    const obstacle = obstacleOf(status);
    if (obstacle !== undefined) throw new SimfleetError("ROTATION_STATE", obstacle);
    return { oldId: oldId ?? "", goesOn: false };
  }

  /** Begins a rotation, or goes on with the one under way. A worker does it, or whoever consumes the profile's queue. */
  async rotate(
    profile: string,
    { by, replaceId }: { by: string; replaceId?: string | undefined },
  ): Promise<AuthKeyRotationReport> {
    const { rotations, queues, requireRotation } = this.#deps;
    requireRotation(profile);
    const rotationId = newRotationId(await rotations.nowMs());
    const record = await rotations.begin(profile, { rotationId, replaceId, by });
    await queues.enqueue(profile, "now");
    return reportOfRotation(record);
  }

  /** The rotation under way, or the last one; undefined when there never was one. */
  async report(profile: string): Promise<AuthKeyRotationReport | undefined> {
    const record = await this.#deps.rotations.record(profile);
    return record === undefined ? undefined : reportOfRotation(record);
  }

  /** Whether a live process works on the rotations of the profile's AuthKey. */
  isServed(profile: string): Promise<boolean> {
    return this.#deps.queues.isServed(profile);
  }
}

/** `k-20261120-103045-482`: sorts by time. */
function newRotationId(nowMs: number): string {
  const stamp = new Date(nowMs).toISOString().replace(/[-:]/g, "").replace("T", "-").slice(0, 15);
  return `k-${stamp}-${String(randomInt(1_000)).padStart(3, "0")}`;
}
