/** Operations on Credential Sets and their rotations, shared by the CLI and the HTTP API. */
import { SimfleetError } from "#core/errors.ts";
import { scrubSecrets } from "#core/scrub-secrets.ts";
import { isoTime, dayMs } from "#core/time.ts";
import type { CredentialSet } from "#api/operations/credentials.ts";
import { type Freeze, assertUnfrozen } from "#fleet/freeze.ts";
import { requireOperations } from "#fleet/required-operation.ts";
import { type Call, type Endpoint, creating, endpoint } from "#contract/route.ts";
import type { ProfileJobs } from "#engine/queue/work-queues.ts";
import type { DeploymentOperationId } from "#fleet/deployment-operation.ts";
import { isSetOf } from "#fleet/rotation.ts";
import { isUnattended } from "#fleet/task.ts";
import { AccountSets } from "./account-sets.ts";
import type { Rotation } from "./config.ts";
import * as routes from "./contract.ts";
import type { ChangedSet, NewSet, RotationReport, SetReport } from "./contract.ts";
import { currentSet, planRotation, refused, rotationsOf } from "./plan.ts";
import type { RotationRecord, RotationState } from "./record.ts";
import { type Reference, reasonToKeep, referencesIn } from "./references.ts";
import { isRotationOver } from "./rotation-machine.ts";
import type { RotationContext } from "./steps/credential-step.ts";
import { forgetAll, givenSecret } from "./new-secret.ts";
import { reportOfProblem } from "#engine/problem.ts";

interface ServiceDeps extends Pick<RotationContext, "log" | "clock" | "rotations" | "accountFor"> {
  readonly queues: Pick<ProfileJobs, "enqueue" | "isServed">;
  /** @throws ConfigError if no key for encrypting secrets is configured */
  readonly requireSeal: () => unknown;
  readonly freezeOf: (profile: string) => Promise<Freeze | undefined>;
}

/** A set that a user changes, and the account. */
type OneSet = Readonly<{ credentialsId: string; profile: string; signal: AbortSignal }>;
type OfSet = Pick<Call<typeof routes.deleteCredentials>, "params" | "query" | "signal">;

export class CredentialService {
  readonly #deps: ServiceDeps;

  constructor(deps: ServiceDeps) {
    this.#deps = deps;
  }

  /** The sets of an account, sorted by name, with their references if the deployment supports it. @throws PlatformError, ConfigError */
  async list(profile: string, signal: AbortSignal): Promise<SetReport[]> {
    const sets = this.#sets(profile, signal);
    const found = (await sets.list()).toSorted((a, b) => (a.credentialsId < b.credentialsId ? -1 : 1));
    const named = await referencesTo(found, sets);
    const rotations = rotationsOf(profile, this.#deps.rotations);
    return found.map((set) => ({
      ...reportOfSet(set),
      references: named?.get(set.credentialsId) ?? null,
      rotation: rotations.find((one) => isSetOf(one, set.credentialsId))?.name ?? null,
    }));
  }

  /**
   * Creates a set. Where the deployment cannot list them, the platform alone knows whether there is one already.
   * @throws SimfleetError ROTATION_STATE_CONFLICT, REQUEST_INVALID, CHANGES_FROZEN; PlatformError
   */
  async create(of: OneSet, given: NewSet): Promise<ChangedSet> {
    const { credentialsId, profile, signal } = of;
    const sets = this.#sets(profile, signal);
    if (sets.can("listCredentials") && (await sets.find(credentialsId)) !== undefined) {
      throw refused(`there is a Credential Set ${credentialsId} already; replace its secret with an update`);
    }
    await this.#assertNotRotated(of, []);
    return this.#put("create", of, given);
  }

  /** Replaces the secret of a set. @throws as `create`; ConfigError for operations that the deployment lacks, NOT_FOUND */
  async update(of: OneSet, given: Omit<NewSet, "type"> & { type?: string | undefined }): Promise<ChangedSet> {
    const found = await this.#changeable(of, ["listCredentials", "updateCredential"], "Updating a Credential Set");
    const { type = found.type, description = found.description } = given;
    if (type === undefined) {
      throw new SimfleetError("REQUEST_INVALID", `The platform does not show the type of ${of.credentialsId}: give it`);
    }
    return this.#put("update", of, { ...given, type, description });
  }

  /** Deletes a set to which no group refers. @throws as `update` */
  async delete(of: OneSet): Promise<void> {
    const { credentialsId, profile, signal } = of;
    await this.#changeable(of, ["listCredentials", "listGroups", "deleteCredential"], "Deleting a Credential Set");
    const sets = this.#sets(profile, signal);
    const references = await sets.references(credentialsId);
    if (references.length > 0) throw refused(reasonToKeep(credentialsId, references));
    assertUnfrozen(await this.#deps.freezeOf(profile), this.#deps.clock.wallMs());
    const obstacle = await sets.remove(credentialsId);
    if (obstacle !== undefined) throw new SimfleetError("PLATFORM_REJECTED", obstacle);
  }

  async #changeable(of: OneSet, needed: readonly DeploymentOperationId[], purpose: string): Promise<CredentialSet> {
    const { credentialsId, profile, signal } = of;
    requireOperations(this.#deps.accountFor(profile).deployment, needed, purpose);
    const all = await this.#sets(profile, signal).list();
    await this.#assertNotRotated(of, all);
    const found = all.find((set) => set.credentialsId === credentialsId);
    if (found !== undefined) return found;
    throw new SimfleetError("NOT_FOUND", `There is no Credential Set ${credentialsId} in the account of ${profile}`);
  }

  /** Asserts that no rotation uses the set. @throws SimfleetError ROTATION_STATE_CONFLICT */
  async #assertNotRotated({ credentialsId, profile }: OneSet, sets: readonly CredentialSet[]): Promise<void> {
    const records = await this.#deps.log.records(profile);
    const busy = records.find((one) => !isRotationOver(one) && [one.oldId, one.newId].includes(credentialsId));
    if (busy !== undefined) throw refused(`the rotation ${busy.name} is in progress and works with ${credentialsId}`);
    const holder = rotationsOf(profile, this.#deps.rotations).find((rotation) => {
      const record = records.find(({ name }) => name === rotation.name);
      return currentSet(rotation, record, sets)?.credentialsId === credentialsId;
    });
    if (holder === undefined) return;
    throw refused(
      `${credentialsId} contains the secret of the rotation ${holder.name}: rotate it with simfleet credentials rotate ${holder.name}, or remove the rotation from the configuration first`,
    );
  }

  async #put(how: "create" | "update", { credentialsId, profile, signal }: OneSet, given: NewSet): Promise<ChangedSet> {
    const { accountFor, freezeOf, clock } = this.#deps;
    const credentials = givenSecret(given, accountFor(profile).deployment.credentialTypes);
    try {
      assertUnfrozen(await freezeOf(profile), clock.wallMs());
      const { type, description } = given;
      const set = await this.#sets(profile, signal)[how]({ credentialsId, description, type, credentials });
      return reportOfSet({ ...set, credentialsId });
    } finally {
      forgetAll(credentials);
    }
  }

  /**
   * Starts a rotation, or resumes the one in progress, also one that was quarantined if a user asks for it. The consumer of
   * the profile's rotations carries it out.
   * @param how `by`: who requests it
   * @throws ConfigError for missing configuration, SimfleetError ROTATION_STATE_CONFLICT; nothing is changed then
   */
  async rotate(name: string, { by, signal }: { by: string; signal: AbortSignal }): Promise<RotationReport> {
    const { log, queues, clock, accountFor, requireSeal } = this.#deps;
    const rotation = this.#rotation(name);
    requireSeal();
    let record = await log.record(name);
    if (record === undefined || isRotationOver(record)) {
      const terms = { account: accountFor(rotation.profile), record, nowMs: clock.wallMs() };
      record = await log.begin({ ...(await planRotation(rotation, terms, signal)), startedBy: by });
    } else if (!isUnattended(by)) record = (await log.release(record)) ?? record;
    await queues.enqueue(record.profile, "now");
    return this.#report(rotation, record);
  }

  /**
   * Confirms manually that nothing refers to the old set anymore.
   * @throws SimfleetError ROTATION_STATE_CONFLICT unless the rotation waits for this confirmation
   */
  async confirm(name: string, by: string): Promise<RotationReport> {
    const { log, queues, clock } = this.#deps;
    const rotation = this.#rotation(name);
    const record = await log.record(name);
    const moved = record && (await log.confirm(record, { confirmedAtMs: clock.wallMs(), confirmedBy: by }));
    if (moved === undefined) throw new SimfleetError("ROTATION_STATE_CONFLICT", notWaiting(name, record));
    await queues.enqueue(moved.profile, "now");
    return this.#report(rotation, moved);
  }

  /** Reports a rotation from its record, without any call. */
  async report(name: string): Promise<RotationReport> {
    return this.#report(this.#rotation(name), await this.#deps.log.record(name));
  }

  /**
   * Reports every rotation of some profiles that is configured or in progress, with the platform's data on its set.
   * @returns `unknown`: why the platform could not be queried, by profile
   */
  async status(
    profiles: readonly string[],
    signal: AbortSignal,
  ): Promise<{ rotations: RotationReport[]; unknown: Record<string, string> }> {
    const rotations: RotationReport[] = [];
    const unknown: Record<string, string> = {};
    for (const profile of profiles) {
      const configured = rotationsOf(profile, this.#deps.rotations);
      const records = await this.#deps.log.records(profile);
      const factsOf = await this.#facts(profile, records, signal).catch((thrown: unknown) => {
        if (!(thrown instanceof SimfleetError)) throw thrown;
        unknown[profile] = thrown.message;
        return undefined;
      });
      for (const rotation of configured) {
        const record = records.find(({ name }) => name === rotation.name);
        rotations.push(this.#report(rotation, record, factsOf?.get(rotation.name)));
      }
      const isOrphan = (one: RotationRecord): boolean => !configured.some(({ name }) => name === one.name);
      for (const record of records) {
        if (!isRotationOver(record) && isOrphan(record)) rotations.push(this.#report(record, record));
      }
    }
    return { rotations, unknown };
  }

  /** Whether a live process handles the rotations of the profile. */
  isServed(profile: string): Promise<boolean> {
    return this.#deps.queues.isServed(profile);
  }

  /** The configured rotation with this name. @throws SimfleetError ROTATION_NOT_FOUND */
  #rotation(name: string): Rotation {
    const { rotations } = this.#deps;
    const rotation = Object.hasOwn(rotations, name) ? rotations[name] : undefined;
    if (rotation !== undefined) return rotation;
    const known = Object.keys(rotations).join(", ");
    const hint = known === "" ? "none are configured under `rotations`" : `known are: ${known}`;
    throw new SimfleetError("ROTATION_NOT_FOUND", `there is no rotation ${name} in the configuration; ${hint}`);
  }

  /** The platform's data on the current set of each configured rotation, by the rotation's name. */
  async #facts(
    profile: string,
    records: readonly RotationRecord[],
    signal: AbortSignal,
  ): Promise<Map<string, SetFacts>> {
    const configured = rotationsOf(profile, this.#deps.rotations);
    if (configured.length === 0) return new Map();
    const sets = this.#sets(profile, signal);
    const all = await sets.list();
    const current = configured.flatMap((rotation) => {
      const record = records.find(({ name }) => name === rotation.name);
      const set = currentSet(rotation, record, all);
      return set === undefined ? [] : [{ ...set, rotation: rotation.name }];
    });
    const named = await referencesTo(current, sets);
    return new Map(
      current.map(({ rotation, credentialsId, createdAtMs, updatedAtMs, lastUsedAtMs }) => {
        const sinceMs = updatedAtMs ?? createdAtMs;
        return [rotation, { credentialsId, sinceMs, lastUsedAtMs, references: named?.get(credentialsId) }];
      }),
    );
  }

  #sets(profile: string, signal: AbortSignal): AccountSets {
    return new AccountSets(this.#deps.accountFor(profile), signal, "Reading Credential Sets");
  }

  #report(of: Pick<Rotation, "name" | "profile">, record: RotationRecord | undefined, facts?: SetFacts) {
    const { rotations, clock } = this.#deps;
    const rotation = Object.hasOwn(rotations, of.name) ? rotations[of.name] : undefined;
    return reportOfRotation(of, { rotation, record, facts, nowMs: clock.wallMs() });
  }
}

function reportOfSet(set: CredentialSet): ChangedSet {
  return {
    credentialsId: set.credentialsId,
    // The platform may echo a value.
    type: scrubSecrets(set.type ?? "") || null,
    description: scrubSecrets(set.description ?? "") || null,
    createdAt: isoTime(set.createdAtMs),
    updatedAt: isoTime(set.updatedAtMs),
    lastUsedAt: isoTime(set.lastUsedAtMs),
  };
}

/** The references to each set; undefined if the deployment does not support listing them. */
async function referencesTo(
  named: readonly { readonly credentialsId: string }[],
  sets: AccountSets,
): Promise<ReadonlyMap<string, Reference[]> | undefined> {
  if (!sets.can("listGroups")) return undefined;
  const found = new Map<string, Reference[]>(named.map(({ credentialsId }) => [credentialsId, []]));
  for await (const group of sets.groups()) {
    for (const [id, references] of found) references.push(...referencesIn(group, id));
  }
  return found;
}

function notWaiting(name: string, record: RotationRecord | undefined): string {
  if (record === undefined || isRotationOver(record)) return `the rotation ${name} is not in progress`;
  const what = record.reason ?? `it is ${record.state}`;
  return `the rotation ${name} does not wait for a confirmation: ${what}`;
}

/** The endpoints. @param kernel `profiles`: all; `profileOf` throws SimfleetError NOT_FOUND */
export function credentialEndpoints(
  service: CredentialService,
  kernel: { readonly profileOf: (named: string | undefined) => string; readonly profiles: readonly string[] },
): readonly Endpoint[] {
  const { profileOf, profiles } = kernel;
  const oneSet = ({ params, query, signal }: OfSet) => ({ ...params, profile: profileOf(query.profile), signal });
  return [
    endpoint(routes.createCredentials, (call) => service.create(oneSet(call), call.body)),
    endpoint(routes.updateCredentials, (call) => service.update(oneSet(call), call.body)),
    endpoint(routes.deleteCredentials, (call) => service.delete(oneSet(call)).then(() => undefined)),
    endpoint(routes.listCredentials, async ({ query, signal }) => {
      const sets = await service.list(profileOf(query.profile), signal);
      return { credentials: sets, nextCursor: null };
    }),
    endpoint(routes.listRotations, ({ query, signal }) => {
      const asked = query.profile === undefined ? profiles : [profileOf(query.profile)];
      return service.status(asked, signal);
    }),
    endpoint(routes.showRotation, ({ params }) => service.report(params.name)),
    // A rotation in progress continues.
    creating(routes.rotateCredentials, ({ params: { name }, by, signal }) => ({
      newId: () => name,
      create: () => service.rotate(name, { by, signal }),
      pathOf: () => `/rotations/${name}`,
    })),
    creating(routes.confirmRotation, ({ params: { name }, by }) => ({
      newId: () => name,
      create: () => service.confirm(name, by),
      pathOf: () => `/rotations/${name}`,
    })),
  ];
}

// The report of a rotation, for display and JSON.

/** The platform's data on a rotation's current set. */
interface SetFacts {
  readonly credentialsId: string;
  readonly sinceMs: number | undefined;
  readonly lastUsedAtMs: number | undefined;
  /** Undefined: the deployment does not support listing references. */
  readonly references: readonly Reference[] | undefined;
}

const nextSteps: Readonly<Record<RotationState, string>> = {
  planned: "generate the new secret",
  generated: "deliver it to the sinks",
  delivered: "store it on the platform",
  created: "update the references to the old set",
  updated: "verify that the platform has it",
  switched: "delete the old set once it is unused",
  "rolling-back": "roll back the changes",
  done: "",
  failed: "",
};

/** Input of a report. `rotation` is absent if it is no longer configured, `facts` if the platform was not queried. */
interface Parts {
  readonly rotation: Rotation | undefined;
  readonly record: RotationRecord | undefined;
  readonly facts?: SetFacts | undefined;
  readonly nowMs: number;
}

export function reportOfRotation({ name, profile }: Pick<Rotation, "name" | "profile">, parts: Parts): RotationReport {
  const { rotation, record, facts } = parts;
  return {
    name,
    profile,
    state: record?.state ?? "never",
    strategy: rotation?.strategy ?? record?.strategy ?? "",
    type: rotation?.type ?? record?.type ?? "",
    ...turnOf(record),
    lastUsedAt: isoTime(facts?.lastUsedAtMs),
    references: facts?.references ?? null,
    ...setOf(parts),
    ...courseOf(record === undefined || isRotationOver(record) ? undefined : record, rotation),
    ...(record?.problem === undefined ? {} : { problem: reportOfProblem(record.problem) }),
  };
}

function turnOf(record: RotationRecord | undefined) {
  return {
    rotationId: record?.rotationId ?? null,
    startedAt: isoTime(record?.startedAtMs),
    startedBy: record?.startedBy ?? null,
    confirmedBy: record?.confirmedBy ?? null,
    finishedAt: isoTime(record?.finishedAtMs),
    waitsFor: record?.waitsFor ?? null,
    // The texts that show it end their sentences themselves.
    reason: (record?.reason ?? record?.failure)?.replace(/\.$/, "") ?? null,
    handedTo: record?.handedToNames ?? [],
  };
}

function setOf({ rotation, record, facts, nowMs }: Parts) {
  // Before its first rotation, the set that the configuration names.
  const credentialsId = facts?.credentialsId ?? record?.currentId ?? rotation?.credentialsId ?? null;
  const rotatedAtMs = facts?.sinceMs ?? record?.rotatedAtMs;
  if (rotatedAtMs === undefined) return { credentialsId, rotatedAt: null, ageDays: null, dueAt: null };
  const ageDays = Math.max(0, Math.round(((nowMs - rotatedAtMs) / dayMs) * 10) / 10);
  const dueAt = rotation?.maxAgeMs === undefined ? null : isoTime(rotatedAtMs + rotation.maxAgeMs);
  return { credentialsId, rotatedAt: isoTime(rotatedAtMs), ageDays, dueAt };
}

/** The sets before and after a rotation in progress. */
function courseOf(record: RotationRecord | undefined, rotation: Rotation | undefined) {
  if (record === undefined) return { before: null, successor: null, nextStep: null, nextAt: null };
  return {
    before: record.oldId ?? null,
    successor: record.strategy === "successor" ? record.newId : null,
    nextStep: nextSteps[record.state],
    nextAt: isoTime(nextInstantOf(record, rotation)),
  };
}

/** The end of the grace period, not the next poll; a user has no time. */
function nextInstantOf(record: RotationRecord, rotation: Rotation | undefined): number | undefined {
  const { waitsFor, quietSinceMs, nextAtMs } = record;
  if (waitsFor === "confirmation" || waitsFor === "quarantined") return undefined;
  if (waitsFor === "grace" && quietSinceMs !== undefined && rotation !== undefined)
    return quietSinceMs + rotation.graceMs;
  return nextAtMs === 0 ? undefined : nextAtMs;
}
