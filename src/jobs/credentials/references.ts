/**
 * What in a group's configuration names a Credential Set: the keys `credentialsId` and `$credentialsId`, at any depth of
 * any entry. A name can hold placeholders (`psk-#{imsi}`) that the platform fills in for each SIM, so that it may mean a
 * set without saying its id; such a one is never changed, only told of. So is a name in an entry that is nested too deep to
 * be written again. Nothing here reads or keeps any other value.
 */
import { isDeeperThan, mostLevels } from "#fleet/depth.ts";
import type { GroupRecord } from "#api/operations/groups.ts";

export interface Reference {
  readonly groupId: string;
  readonly namespace: string;
  readonly how: "id" | "placeholder";
}

const namingKeys: ReadonlySet<string> = new Set(["credentialsId", "$credentialsId"]);

/** The entries of a group that name the set, or may mean it. */
export function referencesIn({ groupId, configuration }: GroupRecord, credentialsId: string): Reference[] {
  return Object.entries(configuration ?? {}).flatMap(([namespace, entries]) => {
    const isWritable = !isDeeperThan(entries, mostLevels);
    const ways = new Set<Reference["how"]>();
    for (const name of namesIn(entries)) {
      if (name === credentialsId) ways.add(isWritable ? "id" : "placeholder");
      else if (mayMean(name, credentialsId)) ways.add("placeholder");
    }
    return [...ways].map((how): Reference => ({ groupId, namespace, how }));
  });
}

/** The entries of each namespace that name one set, naming the other; all else as it was. */
export function entriesRenamed(
  { configuration }: GroupRecord,
  from: string,
  to: string,
): { readonly namespace: string; readonly entries: Readonly<Record<string, unknown>> }[] {
  return Object.entries(configuration ?? {}).flatMap(([namespace, written]) => {
    if (!isMapping(written) || isDeeperThan(written, mostLevels)) return [];
    const changed = Object.entries(written).flatMap(([key, value]) => {
      const isNamed = [...namesIn({ [key]: value })].includes(from);
      return isNamed ? [[key, renamed(key, value, { from, to })] as const] : [];
    });
    return changed.length === 0 ? [] : [{ namespace, entries: Object.fromEntries(changed) }];
  });
}

/** Whether a name with placeholders could be filled in so that it is this id. */
export function mayMean(name: string, credentialsId: string): boolean {
  if (!name.includes("#{")) return false;
  const [first = "", ...others] = name.split(/#\{[^}]*\}/);
  const last = others.pop();
  if (last === undefined) return false;
  const end = credentialsId.length - last.length;
  if (!credentialsId.startsWith(first) || !credentialsId.endsWith(last) || end < first.length) return false;
  // What stands between placeholders has to come in its order; the earliest place leaves the most to the rest.
  let at = first.length;
  for (const part of others) {
    const found = credentialsId.indexOf(part, at);
    if (found < 0 || found + part.length > end) return false;
    at = found + part.length;
  }
  return true;
}

/** The names in the order of the text, with a stack of its own: the platform decides how deep an entry is. */
function* namesIn(value: unknown): Generator<string> {
  const open: unknown[] = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (Array.isArray(next)) {
      for (const item of next.toReversed() as unknown[]) open.push(item);
    } else if (next instanceof Name) {
      yield next.text;
    } else if (isMapping(next)) {
      for (const [key, inner] of Object.entries(next).toReversed()) {
        open.push(namingKeys.has(key) && typeof inner === "string" ? new Name(inner) : inner);
      }
    }
  }
}

/** A name of a Credential Set among values that are still to be read. */
class Name {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
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
