/**
 * The front desk for Credential Sets: what the account has, and what is asked of rotations; the same for the command line
 * and for HTTP.
 */
import { SimfleetError } from "#core/errors.ts";
import type { Clock } from "#core/time.ts";
import { isSetOf, type Rotation } from "#fleet/rotation.ts";
import { AccountSets, type RotationAccount } from "./account-sets.ts";
import { currentSet, planRotation } from "./plan.ts";
import { type Reference, referencesIn } from "./references.ts";
import type { ProfileJobs } from "#engine/profile-queue.ts";
import type { RotationLog } from "./record-store.ts";
import { isRotationOver, type RotationRecord } from "./record.ts";
import { type RotationReport, reportOfRotation, type SetFacts } from "./report.ts";

/** A Credential Set of the account, without its secret, which the platform never shows. */
export interface SetReport {
  readonly credentialsId: string;
  readonly type: string | null;
  readonly description: string | null;
  /** ISO 8601, UTC. */
  readonly createdAt: string | null;
  readonly updatedAt: string | null;
  /** Null: never, or not told. */
  readonly lastUsedAt: string | null;
  /** Null: the deployment does not tell. */
  readonly references: readonly Reference[] | null;
  /** Name of the rotation that it belongs to. */
  readonly rotation: string | null;
}

/** What the desk needs of the house. */
interface ServiceDeps {
  readonly log: RotationLog;
  readonly queues: ProfileJobs;
  readonly clock: Clock;
  /** By name, of all profiles. */
  readonly rotations: Readonly<Record<string, Rotation>>;
  readonly accountFor: (profile: string) => RotationAccount;
  /** @throws ConfigError where no key seals secrets */
  readonly requireSeal: () => unknown;
}

export class CredentialService {
  readonly #deps: ServiceDeps;

  constructor(deps: ServiceDeps) {
    this.#deps = deps;
  }

  /** The sets of an account, by name; what names each, where the deployment tells. @throws PlatformError, ConfigError */
  async list(profile: string, signal: AbortSignal): Promise<SetReport[]> {
    const sets = this.#sets(profile, signal);
    const found = (await sets.list()).toSorted((a, b) => (a.credentialsId < b.credentialsId ? -1 : 1));
    const named = await this.#references(
      sets,
      found.map(({ credentialsId }) => credentialsId),
    );
    const rotations = Object.values(this.#deps.rotations).filter((one) => one.profile === profile);
    return found.map((set) => ({
      credentialsId: set.credentialsId,
      type: set.type ?? null,
      description: set.description ?? null,
      createdAt: instant(set.createdAtMs),
      updatedAt: instant(set.updatedAtMs),
      lastUsedAt: instant(set.lastUsedAtMs),
      references: named?.get(set.credentialsId) ?? null,
      rotation: rotations.find((one) => isSetOf(one, set.credentialsId))?.name ?? null,
    }));
  }

  /** The profile of a rotation. @throws SimfleetError ROTATION_NOT_FOUND */
  rotation(name: string): Rotation {
    const { rotations } = this.#deps;
    const rotation = Object.hasOwn(rotations, name) ? rotations[name] : undefined;
    if (rotation !== undefined) return rotation;
    const known = Object.keys(rotations).join(", ");
    const hint = known === "" ? "none are configured under `rotations`" : `known are: ${known}`;
    throw new SimfleetError("ROTATION_NOT_FOUND", `there is no rotation ${name} in the configuration; ${hint}`);
  }

  /**
   * Begins a rotation, or goes on with the one that is under way. Whoever consumes the profile's rotations does it.
   * @param how `by`: who asks for it
   * @throws ConfigError for what is missing, SimfleetError ROTATION_STATE; nothing has happened then
   */
  async rotate(name: string, { by, signal }: { by: string; signal: AbortSignal }): Promise<RotationReport> {
    const { log, queues, clock, accountFor, requireSeal } = this.#deps;
    const rotation = this.rotation(name);
    requireSeal();
    let record = await log.record(name);
    if (record === undefined || isRotationOver(record)) {
      const storeDeps = { account: accountFor(rotation.profile), record, nowMs: clock.wallMs() };
      record = await log.begin({ ...(await planRotation(rotation, storeDeps, signal)), startedBy: by });
    }
    await queues.enqueue(record.profile, "now");
    return this.#report(rotation, record);
  }

  /**
   * Takes a person's word that nothing names the old set any more.
   * @throws SimfleetError ROTATION_STATE unless the rotation waits for it
   */
  async confirm(name: string, by: string): Promise<RotationReport> {
    const { log, queues, clock } = this.#deps;
    const rotation = this.rotation(name);
    const record = await log.record(name);
    const moved =
      record?.waitsFor === "confirmation"
        ? await log.move(record, {
            confirmedAtMs: clock.wallMs(),
            confirmedBy: by,
            nextAtMs: 0,
            waitsFor: undefined,
            reason: undefined,
          })
        : undefined;
    if (moved === undefined) throw new SimfleetError("ROTATION_STATE", notWaiting(name, record));
    await queues.enqueue(moved.profile, "now");
    return this.#report(rotation, moved);
  }

  /** A rotation as its record has it; no call is made. */
  async report(name: string): Promise<RotationReport> {
    const rotation = this.rotation(name);
    return this.#report(rotation, await this.#deps.log.record(name));
  }

  /**
   * Every rotation that is configured or under way, with what the platform says of its set.
   * @param profiles those that are looked at
   * @returns `unknown`: why the platform could not be asked, by profile
   */
  async status(
    profiles: readonly string[],
    signal: AbortSignal,
  ): Promise<{ rotations: RotationReport[]; unknown: Record<string, string> }> {
    const rotations: RotationReport[] = [];
    const unknown: Record<string, string> = {};
    for (const profile of profiles) {
      const configured = Object.values(this.#deps.rotations).filter((one) => one.profile === profile);
      const records = await this.#deps.log.records(profile);
      const orphans = records.filter(
        (one) => !isRotationOver(one) && !configured.some(({ name }) => name === one.name),
      );
      let factsOf: Map<string, SetFacts> | undefined;
      if (configured.length > 0) {
        factsOf = await this.#facts(profile, { configured, records, signal }).catch((thrown: unknown) => {
          if (!(thrown instanceof SimfleetError)) throw thrown;
          unknown[profile] = thrown.message;
          return undefined;
        });
      }
      for (const rotation of configured) {
        const record = records.find(({ name }) => name === rotation.name);
        rotations.push(this.#report(rotation, record, factsOf?.get(rotation.name)));
      }
      for (const record of orphans) rotations.push(this.#report(record, record));
    }
    return { rotations, unknown };
  }

  /** Whether a live process works on the rotations of the profile. */
  isServed(profile: string): Promise<boolean> {
    return this.#deps.queues.isServed(profile);
  }

  async #facts(
    profile: string,
    of: { configured: readonly Rotation[]; records: readonly RotationRecord[]; signal: AbortSignal },
  ): Promise<Map<string, SetFacts>> {
    const sets = this.#sets(profile, of.signal);
    const all = await sets.list();
    const current = of.configured.flatMap((rotation) => {
      const set = currentSet(
        rotation,
        of.records.find(({ name }) => name === rotation.name),
        all,
      );
      return set === undefined ? [] : [{ name: rotation.name, set }];
    });
    const named = await this.#references(
      sets,
      current.map(({ set }) => set.credentialsId),
    );
    return new Map(
      current.map(({ name, set }) => {
        const { credentialsId, createdAtMs, updatedAtMs, lastUsedAtMs } = set;
        const sinceMs = updatedAtMs ?? createdAtMs;
        return [name, { credentialsId, sinceMs, lastUsedAtMs, references: named?.get(credentialsId) }];
      }),
    );
  }

  /** What names each set; undefined where the deployment does not tell. */
  async #references(sets: AccountSets, ids: readonly string[]): Promise<Map<string, Reference[]> | undefined> {
    if (!sets.can("listGroups")) return undefined;
    const found = new Map<string, Reference[]>(ids.map((id) => [id, []]));
    for await (const group of sets.groups()) {
      for (const [id, references] of found) references.push(...referencesIn(group, id));
    }
    return found;
  }

  #sets(profile: string, signal: AbortSignal): AccountSets {
    return new AccountSets(this.#deps.accountFor(profile), signal, "Reading Credential Sets");
  }

  #report(
    of: Pick<Rotation, "name" | "profile">,
    record: RotationRecord | undefined,
    facts?: SetFacts,
  ): RotationReport {
    const { rotations, clock } = this.#deps;
    const rotation = Object.hasOwn(rotations, of.name) ? rotations[of.name] : undefined;
    return reportOfRotation(of, { rotation, record, facts, nowMs: clock.wallMs() });
  }
}

function notWaiting(name: string, record: RotationRecord | undefined): string {
  if (record === undefined || isRotationOver(record)) return `the rotation ${name} is not under way`;
  const what = record.reason ?? `it is ${record.state}`;
  return `the rotation ${name} does not wait for a confirmation: ${what}`;
}

function instant(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString();
}
