/**
 * Finds references to a Credential Set in a group's configuration: the keys `credentialsId` and `$credentialsId`, at any
 * depth of any entry. A name can contain placeholders (`psk-#{imsi}`) that the platform fills in for each SIM, so it may
 * match a set without containing its id; such a name is only reported, never changed. The same applies to a name in an entry
 * that is nested too deep to be written back. This code reads and keeps no other values.
 */
import { isDeeperThan, maxLevels } from "#fleet/sim/sim-fields.ts";
import type { GroupRecord } from "#api/operations/groups.ts";

export interface Reference {
  readonly groupId: string;
  readonly namespace: string;
  readonly how: "id" | "placeholder";
}

const namingKeys: ReadonlySet<string> = new Set(["credentialsId", "$credentialsId"]);

/** The entries of a group that refer to the set, or may refer to it. */
export function referencesIn({ groupId, configuration }: GroupRecord, credentialsId: string): Reference[] {
  return Object.entries(configuration ?? {}).flatMap(([namespace, entries]) => {
    const isWritable = !isDeeperThan(entries, maxLevels);
    const ways = new Set<Reference["how"]>();
    for (const name of namesIn(entries)) {
      if (name === credentialsId) ways.add(isWritable ? "id" : "placeholder");
      else if (mayMean(name, credentialsId)) ways.add("placeholder");
    }
    return [...ways].map((how): Reference => ({ groupId, namespace, how }));
  });
}

/** A reference with placeholders that may match a set prevents its deletion. */
export function reasonToKeep(credentialsId: string, left: readonly Reference[]): string {
  const named = left.some(({ how }) => how === "id");
  return `${credentialsId} is not deleted while ${placesOf(left)} ${named ? "names" : "may mean"} it`;
}

/** `SoracomBeam of group g-1 (placeholder)`; only the first ones if there are many. */
export function placesOf(references: readonly Reference[]): string {
  const places = references.map(({ groupId, namespace, how }) => {
    return `${namespace} of group ${groupId}${how === "id" ? "" : " (by placeholder)"}`;
  });
  const more = places.length > 5 ? ` and ${places.length - 5} more` : "";
  return `${places.slice(0, 5).join(", ")}${more}`;
}

/** The entries of each namespace that refer to one set, changed to refer to the other; everything else is unchanged. */
export function entriesRenamed(
  { configuration }: GroupRecord,
  from: string,
  to: string,
): { readonly namespace: string; readonly entries: Readonly<Record<string, unknown>> }[] {
  return Object.entries(configuration ?? {}).flatMap(([namespace, written]) => {
    if (!isMapping(written) || isDeeperThan(written, maxLevels)) return [];
    const changed = Object.entries(written).flatMap(([key, value]) => {
      const isNamed = [...namesIn({ [key]: value })].includes(from);
      return isNamed ? [[key, renamed(key, value, { from, to })] as const] : [];
    });
    return changed.length === 0 ? [] : [{ namespace, entries: Object.fromEntries(changed) }];
  });
}

/** Placeholders whose values are digits; that of any other can have every character. */
const digitPlaceholders: ReadonlySet<string> = new Set(["imsi", "simId", "iccid", "msisdn", "imei"]);

/** Whether a name with placeholders could expand to this id. */
export function mayMean(name: string, credentialsId: string): boolean {
  // Texts and names of placeholders take turns.
  const parts = name.split(/#\{([^}]*)\}/);
  if (parts.length === 1) return false;
  // Where in the id the parts so far can end.
  let ends = new Set([0]);
  for (const [i, part] of parts.entries()) {
    const next = new Set<number>();
    for (const end of ends) {
      if (i % 2 === 0) {
        if (credentialsId.startsWith(part, end)) next.add(end + part.length);
        continue;
      }
      // The ends after a known one are known.
      const pattern = digitPlaceholders.has(part) ? /[0-9]*/y : /[^]*/y;
      pattern.lastIndex = end;
      const length = pattern.exec(credentialsId)?.[0].length ?? 0;
      for (let at = end; at <= end + length && !next.has(at); at += 1) next.add(at);
    }
    ends = next;
  }
  return ends.has(credentialsId.length);
}

/** The names in document order. Uses an explicit stack, since the platform determines how deep an entry is. */
function* namesIn(value: unknown): Generator<string> {
  const open: [key: string, value: unknown][] = [["", value]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [key, inner] = next;
    if (namingKeys.has(key) && typeof inner === "string") yield inner;
    if (typeof inner !== "object" || inner === null) continue;
    for (const entry of Object.entries(inner).toReversed()) open.push(entry);
  }
}

function renamed(key: string, value: unknown, change: { from: string; to: string }): unknown {
  if (namingKeys.has(key) && value === change.from) return change.to;
  if (Array.isArray(value)) return value.map((item) => renamed("", item, change));
  if (!isMapping(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, renamed(name, inner, change)]));
}

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
