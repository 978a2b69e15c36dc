/**
 * Finds references to a Credential Set in a group's configuration: the keys `credentialsId` and `$credentialsId`, at
 * any depth of any entry. A name can contain placeholders (`psk-#{imsi}`) that the platform fills in for each SIM, so
 * it may match a set without containing its id; such a name is only reported, never changed. The same applies to a name
 * in an entry that is nested too deep to be written back. This code reads and keeps no other values.
 */
import { isPlainObject } from "#core/json.ts";
import { isDeeperThan, maxLevels } from "#fleet/sim/sim-fields.ts";
import type { GroupRecord } from "#api/operations/groups.ts";
import type { SetReport } from "./contract.ts";

export type Reference = Readonly<NonNullable<SetReport["references"]>[number]>;

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
export function entriesRenamed({ configuration }: GroupRecord, from: string, to: string) {
  const rename = (key: string, value: unknown): unknown => (namingKeys.has(key) && value === from ? to : value);
  return Object.entries(configuration ?? {}).flatMap(([namespace, written]) => {
    if (!isPlainObject(written) || isDeeperThan(written, maxLevels)) return [];
    const named = Object.entries(written).filter((entry) => [...namesIn(Object.fromEntries([entry]))].includes(from));
    if (named.length === 0) return [];
    const entries = JSON.parse(JSON.stringify(Object.fromEntries(named)), rename) as Readonly<Record<string, unknown>>;
    return [{ namespace, entries }];
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
    if (i % 2 === 0) {
      const matching = [...ends].filter((end) => credentialsId.startsWith(part, end));
      ends = new Set(matching.map((end) => end + part.length));
      continue;
    }
    const allowed = digitPlaceholders.has(part) ? /[0-9]/ : /[^]/;
    for (let at = 1; at <= credentialsId.length; at += 1) {
      if (ends.has(at - 1) && allowed.test(credentialsId.charAt(at - 1))) ends.add(at);
    }
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
