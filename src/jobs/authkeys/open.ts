/** AuthKeys and their rotation, for the CLI, the HTTP API and the worker. */
import { requireSeal } from "#config/config.ts";
import { type Call, type Endpoint, creating, endpoint } from "#contract/route.ts";
import { SimfleetError } from "#core/errors.ts";
import type { AuthKeyUser } from "#engine/authkey-users.ts";
import type { Incident, Working } from "#engine/queue/job-result.ts";
import { type NamedJobs, profileJobs } from "#engine/queue/named-jobs.ts";
import { newWorkId } from "#engine/record.ts";
import { openSeal } from "#engine/seal.ts";
import { requireOperations } from "#fleet/required-operation.ts";
import { isUnattended } from "#fleet/task.ts";
import type { CredentialService } from "#jobs/credentials/open.ts";
import { isRotationOver, isToBeDone } from "#jobs/credentials/rotation-machine.ts";
import { unlessFrozen } from "#engine/freezes.ts";
import type { Kernel } from "#kernel/kernel.ts";
import { authKeyAccount, keyToReplace, workersWith, type AuthKeyDeps, rotateAuthKey } from "./work.ts";
import type { AuthKeys, KeyOwner, KeyUser } from "./config.ts";
import { findOwner, requireAuthKeyOptions, requireOwner } from "./config.ts";
import * as routes from "./contract.ts";
import { type AuthKeyRotations, authKeyRotations, type AuthKeyRotation, type AuthKeyState } from "./record.ts";
import { dayMs } from "#core/time.ts";
import { reportOf } from "#contract/fields.ts";
import { reportOfProblem } from "#engine/problem.ts";

const feature = "Rotating AuthKeys";
const minQuietMs = 10_000;

export class AuthKeyService {
  readonly #kernel: Kernel;
  readonly #rotations: AuthKeyRotations;
  /** One rotation at a time, including the grace period of the old AuthKey. */
  readonly #queues: NamedJobs;
  readonly #configured: AuthKeys;
  readonly #credentials: CredentialService;

  constructor(kernel: Kernel, credentials: CredentialService, configured: AuthKeys) {
    this.#kernel = kernel;
    this.#credentials = credentials;
    this.#configured = configured;
    this.#rotations = authKeyRotations(kernel);
    this.#queues = profileJobs("authkeys", kernel);
  }

  /**
   * The AuthKeys of the user that a profile authenticates as, or of a sub-user, in the platform's order (oldest first).
   * @throws ConfigError when the platform definition lacks an operation; PlatformError
   */
  async list(of: KeyUser): Promise<routes.AuthKeyReport[]> {
    const { profiles } = this.#kernel.config;
    // List first: this authenticates, and thereby determines which AuthKey this process uses.
    const keys = await this.#keys(of);
    const forms = this.#listProfiles(of).flatMap((one) => profiles[one]?.credentials ?? []);
    const configured = forms.flatMap((form) => (form.kind === "auth-key" ? form.authKeyId : []));
    const nowMs = await this.#rotations.nowMs();
    const users = await this.#listUsers(of);
    return keys.map(({ authKeyId, createdAtMs, lastUsedAtMs }) => {
      const place = configured.indexOf(authKeyId);
      return reportOf(routes.authKeyReport, {
        authKeyId,
        createdAtMs,
        ageDays: createdAtMs === undefined ? null : Math.max(0, Math.floor((nowMs - createdAtMs) / dayMs)),
        lastUsedAtMs,
        configured: place === 0 ? "first" : place > 0 ? "second" : null,
        usedBy: workersWith(authKeyId, users),
      });
    });
  }

  /**
   * Previews a rotation; if one is in progress, `rotate` resumes it.
   * @throws ConfigError listing what is missing; SimfleetError ROTATION_STATE_CONFLICT with the obstacle; PlatformError
   */
  async plan({ profile, user }: KeyUser, replaceId: string | undefined) {
    const { accounts } = this.#kernel;
    const owner = requireOwner(this.#configured, { profile, user });
    this.#requireSetup(owner);
    const inUseHere = () => accounts.of(profile).checkSecrets();
    const present = await this.#rotations.record(owner.name);
    if (present !== undefined && !isRotationOver(present)) {
      if (replaceId !== undefined && replaceId !== present.replaceId) {
        const message = `The rotation ${present.rotationId} of ${profile} is in progress and was started without replacing ${replaceId}. Wait until it ends.`;
        throw new SimfleetError("ROTATION_STATE_CONFLICT", message);
      }
      return { profile, oldAuthKeyId: present.oldId ?? inUseHere() ?? null, isInProgress: true };
    }
    const keys = await this.#keys(owner);
    const users = await this.#listUsers(owner);
    const oldAuthKeyId = keyToReplace({ profile, user, keys, users, inUseHere, replaceId });
    return { profile, oldAuthKeyId, isInProgress: false };
  }

  /**
   * Starts a rotation, or resumes the one in progress, also one that was quarantined if a user asks for it. The
   * consumer of the profile's queue, usually a worker, carries it out.
   * @throws as `plan`
   */
  async rotate(of: KeyUser, { by, replaceId }: { by: string; replaceId?: string | undefined }) {
    await this.plan(of, replaceId);
    const owner = requireOwner(this.#configured, of);
    const rotationId = newWorkId("k", await this.#rotations.nowMs(), 6);
    if (!isUnattended(by)) await this.#rotations.release(owner);
    const record = await this.#rotations.begin(owner, { rotationId, replaceId, startedBy: by });
    await this.#queues.enqueue(owner.name, "now");
    return reportOfRotation(record, this.#quietMs(owner));
  }

  /** The rotation in progress, or the last one; undefined if there never was one. */
  async report(of: KeyUser): Promise<routes.AuthKeyRotationReport | undefined> {
    const owner = findOwner(this.#configured, of);
    const record = owner && (await this.#rotations.record(owner.name));
    return record && reportOfRotation(record, this.#quietMs(owner));
  }

  async isServed(of: KeyUser): Promise<boolean> {
    return this.#queues.isServed(requireOwner(this.#configured, of).name);
  }

  /** Works on the rotations of a user's AuthKey until stopped. @throws ConfigError with what is missing */
  async consume({ profile, user }: KeyUser, onIncident: (incident: Incident) => void): Promise<Working> {
    const { config, clock, client, accounts } = this.#kernel;
    const owner = requireOwner(this.#configured, { profile, user });
    const { options, keys } = this.#requireSetup(owner);
    const deps: AuthKeyDeps = {
      ...this.#kernel,
      log: this.#rotations,
      users: { list: () => this.#listUsers(owner) },
      seal: openSeal(keys),
      sinks: options.sinks,
      account: authKeyAccount(client(profile), { deployment: config.deployment, purpose: feature, user }),
      quietMs: this.#quietMs(owner),
      inUseHere: () => accounts.of(profile).checkSecrets(),
      handOver: this.#credentials.handOver,
    };
    return this.#queues.consumeOne(owner, {
      onIncident,
      status: async ({ name }) => (isToBeDone(await this.#rotations.record(name)) ? "waiting" : "none"),
      work: async ({ name }, stop) => {
        const terms = { clock, freezes: this.#kernel.freezes, scope: "job", signal: stop } as const;
        const result = await unlessFrozen(profile, terms, (signal) => rotateAuthKey(name, deps, signal));
        if (result.kind === "postponed" && result.refusal !== undefined) {
          onIncident({ message: result.reason, refusal: result.refusal });
        }
        return result;
      },
    });
  }

  endpoints(): readonly Endpoint[] {
    const { profileOf } = this.#kernel;
    const toUser = ({ profile, user }: Call<typeof routes.showAuthKeyRotation>["query"]) => ({
      profile: profileOf(profile),
      user,
    });
    return [
      endpoint(routes.listAuthKeys, async ({ query }) => {
        const authKeys = await this.list(toUser(query));
        return { authKeys, nextCursor: null, rotation: (await this.report(toUser(query))) ?? null };
      }),
      endpoint(routes.showAuthKeyRotation, ({ query }) => this.#show(toUser(query))),
      endpoint(routes.planAuthKeyRotation, ({ query }) => this.plan(toUser(query), query.replace)),
      creating(routes.rotateAuthKey, ({ query, body, by }) => {
        const of = toUser(query);
        return {
          newId: () => of.profile,
          create: () => this.rotate(of, { by, replaceId: body?.replace }),
          show: () => this.#show(of),
          pathOf: () => "/authkeys",
        };
      }),
    ];
  }

  async #show(of: KeyUser): Promise<routes.AuthKeyRotationReport> {
    const report = await this.report(of);
    if (report !== undefined) return report;
    throw new SimfleetError("NOT_FOUND", `The AuthKey of ${of.user ?? of.profile} has not been rotated`);
  }

  #keys({ profile, user }: KeyUser) {
    const { config, client } = this.#kernel;
    return authKeyAccount(client(profile), { deployment: config.deployment, purpose: "Listing AuthKeys", user }).list();
  }

  /** The profiles that may use an AuthKey of this owner; that of a sub-user may belong to any. */
  #listProfiles({ profile, user }: KeyUser): string[] {
    return user === undefined ? [profile] : Object.keys(this.#kernel.config.profiles);
  }

  async #listUsers(owner: KeyUser): Promise<AuthKeyUser[]> {
    const users = this.#listProfiles(owner).map((profile) => this.#kernel.users.list(profile));
    return (await Promise.all(users)).flat();
  }

  /** All that a rotation cannot do without. @throws ConfigError */
  #requireSetup(owner: KeyOwner) {
    const { config } = this.#kernel;
    const [secretFile] = config.profiles[owner.profile]?.secrets.files ?? [];
    requireOperations(config.deployment, ["listAuthKeys", "createAuthKey", "revokeAuthKey"], feature);
    return {
      options: requireAuthKeyOptions(this.#configured, owner, secretFile),
      keys: requireSeal(config, feature),
    };
  }

  /** How long the old AuthKey has to be unused: at least longer than the last announcement of a process is trusted. */
  #quietMs({ name }: KeyOwner): number {
    return Math.max(this.#configured[name]?.graceMs ?? 0, minQuietMs);
  }
}

/** The report, for display and JSON. It never contains a secret. */
export function reportOfRotation(record: AuthKeyRotation, quietMs: number): routes.AuthKeyRotationReport {
  const { state, quietSinceMs, problem } = record;
  return reportOf(routes.authKeyRotationReport, {
    ...record,
    oldAuthKeyId: record.oldId,
    newAuthKeyId: record.newId,
    now: state === "done" || state === "failed" ? null : (record.reason ?? doing[state]),
    revokesAtMs: state === "active" && quietSinceMs !== undefined ? quietSinceMs + quietMs : undefined,
    reason: record.failure,
    problem: problem && reportOfProblem(problem),
  });
}

const doing: Readonly<Record<Exclude<AuthKeyState, "done" | "failed">, string>> = {
  begun: "reading the AuthKeys of the user",
  "making-room": "revoking an AuthKey to make room",
  creating: "creating a new AuthKey",
  created: "verifying the new AuthKey by authenticating with it",
  verified: "delivering the new AuthKey to its sinks",
  delivered: "waiting for simfleet to load the new AuthKey",
  active: "waiting until the old AuthKey is unused",
  revoking: "revoking the old AuthKey",
  revoked: "finishing the rotation",
  "taking-back": "revoking the new AuthKey",
};
