/** Opens the operations on Credential Sets and their rotations, shared by the CLI, the HTTP API and the worker. */
import type { CredentialSet } from "#api/operations/credentials.ts";
import { reportOf } from "#contract/fields.ts";
import { requireSeal } from "#config/config.ts";
import { readSecretFile } from "#config/secrets/secret-file.ts";
import { type Call, type Endpoint, creating, endpoint } from "#contract/route.ts";
import { SimfleetError, entryNamed } from "#core/errors.ts";
import { scrubSecrets } from "#core/secrets/scrub-secrets.ts";
import { dayMs } from "#core/time.ts";
import { reportOfProblem } from "#engine/problem.ts";
import type { Incident, Working } from "#engine/queue/job-result.ts";
import { type NamedJobs, profileJobs } from "#engine/queue/named-jobs.ts";
import { openSeal } from "#engine/seal.ts";
import { webhookSender } from "#events/webhook/webhook.ts";
import type { DeploymentOperationId } from "#fleet/deployment-operation.ts";
import { assertUnfrozen } from "#fleet/freeze.ts";
import { requireOperations } from "#fleet/required-operation.ts";
import { isSetOf } from "#fleet/rotation.ts";
import { isUnattended } from "#fleet/task.ts";
import { unlessFrozen } from "#engine/freezes.ts";
import type { Sweep, Swept } from "#engine/sweep.ts";
import type { Kernel } from "#kernel/kernel.ts";
import { type AccountSets, type RotationAccount, accountSets, feature } from "./account-sets.ts";
import { commandRunner } from "./command.ts";
import { forgetAll, givenSecret } from "./new-secret.ts";
import { type SinkDeps, handOver } from "./sinks.ts";
import type { Rotation, Rotations } from "./config.ts";
import * as routes from "./contract.ts";
import { type RotationLog, type RotationRecord, type RotationState, rotationLog } from "./record.ts";
import { type Reference, reasonToKeep } from "./references.ts";
import { isRotationOver } from "./rotation-machine.ts";
import * as work from "./work.ts";

/** A set that a user changes, and the account. */
type OneSet = Readonly<{ credentialsId: string; profile: string; signal: AbortSignal }>;
type NewSet = Call<typeof routes.createCredentials>["body"];
type OfSet = Pick<Call<typeof routes.deleteCredentials>, "params" | "query" | "signal">;

export class CredentialService {
  readonly log: RotationLog;
  readonly rotations: Rotations;
  readonly #kernel: Kernel;
  /**
   * One job handles all rotations of a profile. It may be delayed for hours between two polls, and runs at once if a
   * rotation is due, so that a new rotation does not wait for the grace period of another.
   */
  readonly #queues: NamedJobs;
  #context: work.RotationContext | undefined;
  readonly #sinks: SinkDeps;
  /** Hands a new secret to a sink. @throws SinkError; the signal's reason */
  readonly handOver: work.RotationContext["handOver"];

  constructor(kernel: Kernel, rotations: Rotations) {
    this.#kernel = kernel;
    this.rotations = rotations;
    this.log = rotationLog(kernel);
    this.#queues = profileJobs("rotations", kernel);
    const { clock, env, lifecycle } = kernel;
    const webhooks = webhookSender(kernel);
    lifecycle.onStop("webhooks of sinks", () => webhooks.close());
    this.#sinks = { commands: commandRunner({ env, clock }), readSecretFile, webhooks, pod: { env } };
    this.handOver = (sink, handover, signal) => handOver(sink, handover, this.#sinks, signal);
  }

  isServed(profile: string): Promise<boolean> {
    return this.#queues.isServed(profile);
  }

  /** Works on a profile's rotations until stopped. @throws ConfigError if no key to seal secrets is configured */
  async consume(profile: string, onIncident: (incident: Incident) => void): Promise<Working> {
    const { clock, freezes } = this.#kernel;
    const context = this.#contextOfWork();
    return this.#queues.consumeOne(
      { name: profile },
      {
        onIncident,
        status: ({ name }) => work.statusOf(name, context),
        work: ({ name }, stop) =>
          unlessFrozen(name, { clock, freezes, scope: "job", signal: stop }, (signal) =>
            work.workOnRotations(name, context, { signal, emit: onIncident }),
          ),
      },
    );
  }

  /** Reports the secrets of a profile that are too old, until the app closes. */
  watchAges(profile: string, onIncident: (incident: Incident) => void): void {
    const stop = work.watchAges(profile, this.#contextOfWork(), onIncident);
    this.#kernel.lifecycle.onStop(`ages of secrets of ${profile}`, stop);
  }

  #contextOfWork(): work.RotationContext {
    const { config } = this.#kernel;
    return (this.#context ??= {
      ...this.#kernel,
      log: this.log,
      rotations: this.rotations,
      accountFor: (named) => this.#account(named),
      seal: openSeal(requireSeal(config, feature)),
      origins: this.#sinks,
      handOver: this.handOver,
    });
  }

  #account(profile: string): RotationAccount {
    const { client, config } = this.#kernel;
    return { client: client(profile), deployment: config.deployment, maxSets: config.limits.credentialSets };
  }

  /** An account's sets, sorted by name, with their references where possible. @throws PlatformError, ConfigError */
  async list(profile: string, signal: AbortSignal): Promise<routes.SetReport[]> {
    const sets = this.#sets(profile, signal);
    const found = (await sets.list()).toSorted((a, b) => (a.credentialsId < b.credentialsId ? -1 : 1));
    const named = await sets.referencesTo(found);
    const rotations = work.rotationsOf(profile, this.rotations);
    return found.map((set) => ({
      ...reportOfSet(set),
      references: named?.get(set.credentialsId) ?? null,
      rotation: rotations.find((one) => isSetOf(one, set.credentialsId))?.name ?? null,
    }));
  }

  /**
   * Creates a set. Where the definition cannot list them, the platform alone knows whether there is one already.
   * @throws SimfleetError ROTATION_STATE_CONFLICT, REQUEST_INVALID, CHANGES_FROZEN; PlatformError
   */
  async create(of: OneSet, given: NewSet) {
    const { credentialsId, profile, signal } = of;
    const sets = this.#sets(profile, signal);
    if (sets.can("listCredentials") && (await sets.find(credentialsId)) !== undefined) {
      throw work.refused(`there is a Credential Set ${credentialsId} already; replace its secret with an update`);
    }
    await this.#assertNotRotated(of, []);
    return this.#put("create", of, given);
  }

  /** Replaces the secret of a set. @throws as `create`; ConfigError for missing operations, NOT_FOUND */
  async update(of: OneSet, given: Call<typeof routes.updateCredentials>["body"]) {
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
    if (references.length > 0) throw work.refused(reasonToKeep(credentialsId, references));
    await this.#assertUnfrozen(profile);
    const obstacle = await sets.remove(credentialsId);
    if (obstacle !== undefined) throw new SimfleetError("PLATFORM_REJECTED", obstacle);
  }

  async #changeable(of: OneSet, needed: readonly DeploymentOperationId[], purpose: string): Promise<CredentialSet> {
    const { credentialsId, profile, signal } = of;
    requireOperations(this.#kernel.config.deployment, needed, purpose);
    const all = await this.#sets(profile, signal).list();
    await this.#assertNotRotated(of, all);
    const found = all.find((set) => set.credentialsId === credentialsId);
    if (found !== undefined) return found;
    throw new SimfleetError("NOT_FOUND", `There is no Credential Set ${credentialsId} in the account of ${profile}`);
  }

  /** @throws SimfleetError ROTATION_STATE_CONFLICT if a rotation uses the set */
  async #assertNotRotated({ credentialsId, profile }: OneSet, sets: readonly CredentialSet[]): Promise<void> {
    const records = await this.log.records(profile);
    const busy = records.find((one) => !isRotationOver(one) && [one.oldId, one.newId].includes(credentialsId));
    if (busy !== undefined)
      throw work.refused(`the rotation ${busy.name} is in progress and works with ${credentialsId}`);
    const holder = work.rotationsOf(profile, this.rotations).find((rotation) => {
      const record = records.find(({ name }) => name === rotation.name);
      return work.currentSet(rotation, record, sets)?.credentialsId === credentialsId;
    });
    if (holder === undefined) return;
    throw work.refused(
      `${credentialsId} contains the secret of the rotation ${holder.name}: rotate it with simfleet credentials rotate ${holder.name}, or remove the rotation from the configuration first`,
    );
  }

  async #put(how: "create" | "update", { credentialsId, profile, signal }: OneSet, given: NewSet) {
    const credentials = givenSecret(given, this.#kernel.config.deployment.credentialTypes);
    try {
      await this.#assertUnfrozen(profile);
      const { type, description } = given;
      const set = await this.#sets(profile, signal)[how]({ credentialsId, description, type, credentials });
      return reportOfSet({ ...set, credentialsId });
    } finally {
      forgetAll(credentials);
    }
  }

  /**
   * Starts a rotation, or resumes the one in progress, also one that was quarantined if a user asks for it. The
   * consumer of the profile's rotations carries it out.
   * @param how `by`: who requests it
   * @throws ConfigError for missing configuration, SimfleetError ROTATION_STATE_CONFLICT; nothing is changed then
   */
  async rotate(name: string, { by, signal }: { by: string; signal: AbortSignal }): Promise<routes.RotationReport> {
    const { log } = this;
    const rotation = this.#rotation(name);
    requireSeal(this.#kernel.config, feature);
    let record = await log.record(name);
    if (record === undefined || isRotationOver(record)) {
      const terms = { account: this.#account(rotation.profile), record, nowMs: this.#kernel.clock.wallMs() };
      record = await log.begin({ ...(await work.planRotation(rotation, terms, signal)), startedBy: by });
    } else if (!isUnattended(by)) record = (await log.release(record)) ?? record;
    await this.#queues.enqueue(record.profile, "now");
    return this.#report(rotation, record);
  }

  /**
   * Confirms manually that nothing refers to the old set anymore.
   * @throws SimfleetError ROTATION_STATE_CONFLICT unless the rotation waits for this confirmation
   */
  async confirm(name: string, by: string): Promise<routes.RotationReport> {
    const rotation = this.#rotation(name);
    const record = await this.log.record(name);
    const confirmed = { confirmedAtMs: this.#kernel.clock.wallMs(), confirmedBy: by };
    const moved = record && (await this.log.confirm(record, confirmed));
    if (moved === undefined) {
      const isOver = record === undefined || isRotationOver(record);
      const reason = isOver ? undefined : (record.reason ?? `it is ${record.state}`);
      const what = isOver ? "is not in progress" : `does not wait for a confirmation: ${reason}`;
      throw new SimfleetError("ROTATION_STATE_CONFLICT", `the rotation ${name} ${what}`);
    }
    await this.#queues.enqueue(moved.profile, "now");
    return this.#report(rotation, moved);
  }

  /** Reports a rotation from its record, without any call. */
  async report(name: string): Promise<routes.RotationReport> {
    return this.#report(this.#rotation(name), await this.log.record(name));
  }

  /**
   * Reports every rotation of some profiles that is configured or in progress, with the platform's data on its set.
   * @returns `unknown`: why the platform could not be queried, by profile
   */
  async status(profiles: readonly string[], signal: AbortSignal) {
    const rotations: routes.RotationReport[] = [];
    const unknown: Record<string, string> = {};
    for (const profile of profiles) {
      const configured = work.rotationsOf(profile, this.rotations);
      const records = new Map((await this.log.records(profile)).map((record) => [record.name, record]));
      const factsOf = await this.#facts(configured, records, signal).catch((thrown: unknown) => {
        if (!(thrown instanceof SimfleetError)) throw thrown;
        unknown[profile] = thrown.message;
        return undefined;
      });
      for (const rotation of configured) {
        rotations.push(this.#report(rotation, records.get(rotation.name), factsOf?.get(rotation.name)));
        records.delete(rotation.name);
      }
      // Those left are no longer in the configuration.
      for (const record of records.values()) {
        if (!isRotationOver(record)) rotations.push(this.#report(record, record));
      }
    }
    return { rotations, unknown };
  }

  /** The configured rotation with this name. @throws SimfleetError ROTATION_NOT_FOUND */
  #rotation(name: string): Rotation {
    return entryNamed(Object.entries(this.rotations), name, "rotation", "ROTATION_NOT_FOUND");
  }

  /** The platform's data on the current set of each configured rotation of a profile, by the rotation's name. */
  async #facts(configured: readonly Rotation[], records: ReadonlyMap<string, RotationRecord>, signal: AbortSignal) {
    const [first] = configured;
    if (first === undefined) return new Map<string, SetFacts>();
    const sets = this.#sets(first.profile, signal);
    const all = await sets.list();
    const current = configured.flatMap((rotation) => {
      const set = work.currentSet(rotation, records.get(rotation.name), all);
      return set === undefined ? [] : { ...set, name: rotation.name };
    });
    const named = await sets.referencesTo(current);
    return new Map<string, SetFacts>(
      current.map((set) => [set.name, { set, references: named?.get(set.credentialsId) }]),
    );
  }

  endpoints(): readonly Endpoint[] {
    const { config, profileOf } = this.#kernel;
    const changing = (name: string, create: (name: string) => Promise<routes.RotationReport>) => ({
      newId: () => name,
      create,
      show: () => this.report(name),
      pathOf: () => `/rotations/${name}`,
    });
    const oneSet = ({ params, query, signal }: OfSet) => ({ ...params, profile: profileOf(query.profile), signal });
    return [
      endpoint(routes.createCredentials, (call) => this.create(oneSet(call), call.body)),
      endpoint(routes.updateCredentials, (call) => this.update(oneSet(call), call.body)),
      endpoint(routes.deleteCredentials, (call) => this.delete(oneSet(call))),
      endpoint(routes.listCredentials, async ({ query, signal }) => {
        return { credentials: await this.list(profileOf(query.profile), signal), nextCursor: null };
      }),
      endpoint(routes.listRotations, ({ query, signal }) => {
        const asked = query.profile === undefined ? Object.keys(config.profiles) : [profileOf(query.profile)];
        return this.status(asked, signal);
      }),
      endpoint(routes.showRotation, ({ params }) => this.report(params.name)),
      creating(routes.rotateCredentials, ({ params, by, signal }) =>
        changing(params.name, (name) => this.rotate(name, { by, signal })),
      ),
      creating(routes.confirmRotation, ({ params, by }) => changing(params.name, (name) => this.confirm(name, by))),
    ];
  }

  async #assertUnfrozen(profile: string): Promise<void> {
    const { freezes, clock } = this.#kernel;
    assertUnfrozen(await freezes.of(profile), clock.wallMs());
  }

  #sets(profile: string, signal: AbortSignal): AccountSets {
    return accountSets(this.#account(profile), signal, "Reading Credential Sets");
  }

  #report(of: Pick<Rotation, "name" | "profile">, record: RotationRecord | undefined, facts?: SetFacts) {
    const rotation = Object.hasOwn(this.rotations, of.name) ? this.rotations[of.name] : undefined;
    return reportOfRotation(of, { rotation, record, facts, nowMs: this.#kernel.clock.wallMs() });
  }
}

/** Removes the records of rotations that ended long enough ago and are no longer configured. */
export async function sweepRotations(
  { nowMs, signal }: Sweep,
  { config, log, rotations }: Pick<Kernel, "config"> & Pick<CredentialService, "log" | "rotations">,
): Promise<Swept> {
  const beforeMs = nowMs - config.retention.rotationDays * dayMs;
  let removed = 0;
  for (const profile of Object.keys(config.profiles)) {
    if (signal.aborted) break;
    for (const record of await log.records(profile)) {
      const isKept = Object.hasOwn(rotations, record.name) || !isRotationOver(record);
      if (isKept || (record.finishedAtMs ?? record.startedAtMs) >= beforeMs) continue;
      await log.forget(record);
      removed += 1;
    }
  }
  return { counts: { rotations: removed } };
}

function reportOfSet(set: CredentialSet) {
  // The platform may echo a value.
  const [type, description] = [set.type, set.description].map((text) => scrubSecrets(text ?? "") || undefined);
  return reportOf(routes.changedSet, { ...set, type, description });
}

// The report of a rotation, for display and JSON.

/** The platform's data on a rotation's current set; `references` is undefined if the definition cannot list them. */
type SetFacts = Readonly<{ set: CredentialSet; references: readonly Reference[] | undefined }>;

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

export function reportOfRotation({ name, profile }: Pick<Rotation, "name" | "profile">, parts: Parts) {
  const { rotation, record, facts } = parts;
  const { strategy = "", type = "" } = rotation ?? record ?? {};
  return reportOf(routes.rotationReport, {
    ...record,
    name,
    profile,
    strategy,
    type,
    state: record?.state ?? "never",
    // The texts that show it end their sentences themselves.
    reason: (record?.reason ?? record?.failure)?.replace(/\.$/, ""),
    handedTo: record?.handedToNames ?? [],
    lastUsedAtMs: facts?.set.lastUsedAtMs,
    references: facts?.references,
    ...describeSecret(parts),
    ...describeCourse(parts),
    problem: record?.problem && reportOfProblem(record.problem),
  });
}

/** The set that has the secret, and how old that is. */
function describeSecret({ rotation, record, facts, nowMs }: Parts) {
  // Before its first rotation, the set that the configuration names.
  const credentialsId = facts?.set.credentialsId ?? record?.currentId ?? rotation?.credentialsId;
  const rotatedAtMs = facts?.set.updatedAtMs ?? facts?.set.createdAtMs ?? record?.rotatedAtMs;
  if (rotatedAtMs === undefined) return { credentialsId };
  const ageDays = Math.max(0, Math.round(((nowMs - rotatedAtMs) / dayMs) * 10) / 10);
  const dueAtMs = rotation?.maxAgeMs === undefined ? undefined : rotatedAtMs + rotation.maxAgeMs;
  return { credentialsId, rotatedAtMs, ageDays, dueAtMs };
}

/** The sets before and after a rotation in progress. */
function describeCourse({ record, rotation }: Parts) {
  if (record === undefined || isRotationOver(record)) return { nextAtMs: undefined };
  return {
    before: record.oldId,
    successor: record.strategy === "successor" ? record.newId : undefined,
    nextStep: nextSteps[record.state],
    nextAtMs: findNextInstant(record, rotation),
  };
}

/** The end of the grace period, not the next poll; a user has no time. */
function findNextInstant(record: RotationRecord, rotation: Rotation | undefined): number | undefined {
  const { waitsFor, quietSinceMs, nextAtMs } = record;
  if (waitsFor === "confirmation" || waitsFor === "quarantined") return undefined;
  if (waitsFor === "grace" && quietSinceMs !== undefined && rotation !== undefined)
    return quietSinceMs + rotation.graceMs;
  return nextAtMs === 0 ? undefined : nextAtMs;
}
