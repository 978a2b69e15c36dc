/**
 * The groups of the account and their configuration, which references Credential Sets: by a flat `credentialsId`, by a
 * `$credentialsId` anywhere inside an entry, or by a placeholder such as `psk-#{imsi}`. The sandbox stores the values
 * unmodified and resolves no reference.
 */
import type { GroupSeed, SandboxOptions } from "../options.ts";
import { Refusal } from "../refusals.ts";
import { firstCreatedMs, seededGroupIds } from "../sims/sim-records.ts";

type Configuration = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

export type { GroupSeed } from "../options.ts";

/** A group as responses show it; times are epoch milliseconds. */
export interface GroupRecord {
  readonly groupId: string;
  readonly operatorId: string;
  readonly configuration: Configuration;
  readonly tags: { readonly name: string };
  readonly createdTime: number;
  readonly lastModifiedTime: number;
}

/** A tag of a group, and its value or how it begins. */
export interface TagQuery {
  readonly name: string;
  /** Absent: any value. */
  readonly value: string | undefined;
  readonly matchMode: "exact" | "prefix";
}

const namespacePattern = /^[A-Za-z][A-Za-z0-9]{0,63}$/;

export class Groups {
  readonly #options: SandboxOptions;
  readonly #groups = new Map<string, GroupRecord>();

  constructor(options: SandboxOptions) {
    this.#options = options;
    const ofSims = seededGroupIds.map((groupId): GroupSeed => ({ groupId, name: groupId.replace(/^[^-]*-/, "") }));
    for (const { groupId, name, configuration } of [...ofSims, ...options.groups]) {
      this.#groups.set(groupId, {
        groupId,
        operatorId: options.operatorId,
        configuration: configuration ?? {},
        tags: { name: name ?? this.#groups.get(groupId)?.tags.name ?? groupId },
        createdTime: firstCreatedMs,
        lastModifiedTime: firstCreatedMs,
      });
    }
  }

  get count(): number {
    return this.#groups.size;
  }

  /** In list order: those of the seed, then those of the options. */
  get all(): readonly GroupRecord[] {
    return [...this.#groups.values()];
  }

  /** As `all`, those with the tag; without a query, any. */
  matching(query: TagQuery | undefined): readonly GroupRecord[] {
    return query === undefined ? this.all : this.all.filter(({ tags }) => hasTag(tags, query));
  }

  /** @throws Refusal if there is no such group */
  record(groupId: string): GroupRecord {
    const record = this.#groups.get(groupId);
    if (record === undefined) throw new Refusal("groupUnknown");
    return record;
  }

  /** Sets keys of a namespace; its other keys are unchanged. `entries` is the unmodified body. @throws Refusal */
  configure(groupId: string, namespace: string, entries: unknown): GroupRecord {
    const record = this.record(groupId);
    const isWellFormed = namespacePattern.test(namespace) && Array.isArray(entries) && entries.every(isEntry);
    if (!isWellFormed) throw new Refusal("configurationInvalid");
    const set = Object.fromEntries(entries.map(({ key, value }) => [key, value]));
    const configuration = {
      ...record.configuration,
      [namespace]: { ...record.configuration[namespace], ...set },
    };
    const changed = { ...record, configuration, lastModifiedTime: this.#options.clock.wallMs() };
    this.#groups.set(groupId, changed);
    return changed;
  }
}

function hasTag(tags: Readonly<Record<string, string>>, { name, value, matchMode }: TagQuery): boolean {
  const own = Object.hasOwn(tags, name) ? tags[name] : undefined;
  if (own === undefined || value === undefined) return own !== undefined;
  return matchMode === "exact" ? own === value : own.startsWith(value);
}

function isEntry(entry: unknown): entry is { key: string; value: unknown } {
  if (typeof entry !== "object" || entry === null || !("key" in entry) || !("value" in entry)) return false;
  return typeof entry.key === "string" && entry.key !== "";
}
