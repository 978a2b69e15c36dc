/**
 * The storage format of a SIM in Redis: a header line, then a line for each field, so that a Lua script can find changes
 * field by field without parsing JSON.
 *
 *   ordinal by addedAtMs updatedAtMs goneAtMs              (`-` if it is not gone)
 *   speedClass=s1.fast                                     a text, as it is
 *   createdTime:1712345678901                              anything else, as JSON
 *
 * The ordinal numbers the SIMs of a profile in order of discovery; ordinals are never reused. `by` is `sync` or `run`, or
 * `answer` if only the response to a change has shown the SIM: fields may be missing.
 */
import { type FieldSelection, type SimFields, inputTextOf, textOf, visitFields } from "#fleet/sim/sim-fields.ts";
import { type FieldValue, decodeName, decodeValue, encodeName, encodeValue } from "#fleet/sim/field-text.ts";

/** The last known state of a SIM. */
export type KnownSim = Readonly<ReturnType<typeof decodeSim>>;

/** Encodes fields as lines, as scripts store and compare them. */
export function encodeFields(fields: SimFields): string {
  const lines: string[] = [];
  for (const [name, value] of fields) lines.push(`${encodeName(name)}${encodeValue(value)}`);
  return lines.join("\n");
}

/** Encodes the picked fields of a record without intermediate objects, for lists of thousands. */
export function encodeRecord(record: Readonly<Record<string, unknown>>, selection: FieldSelection): string {
  let lines = "";
  visitFields(record, selection, (name, kind, text) => {
    lines += `${lines === "" ? "" : "\n"}${encodeName(name)}${kind === "text" ? "=" : ":"}${text}`;
  });
  return lines;
}

export function decodeSim(record: string) {
  const [header = "", ...lines] = record.split("\n");
  const [ordinal, by, addedAtMs, updatedAtMs, goneAtMs] = header.split(" ");
  const fields = new Map<string, FieldValue>();
  for (const line of lines) {
    const at = line.search(/[=:]/);
    if (at > 0) fields.set(decodeName(line.slice(0, at)), decodeValue(line.slice(at)));
  }
  return {
    ordinal: Number(ordinal),
    fields: fields as SimFields,
    /** When it was discovered, milliseconds since the epoch by Redis's clock, as all times in this file. */
    addedAtMs: Number(addedAtMs),
    /** When its stored state last changed, or a run's response confirmed it. */
    updatedAtMs: Number(updatedAtMs),
    updatedBy: by === "sync" ? ("sync" as const) : ("run" as const),
    /** When a complete listing first lacked it; absent while it is listed. */
    ...(goneAtMs === "-" ? {} : { goneAtMs: Number(goneAtMs) }),
  };
}

/** Whether a listing that shows these lines changes nothing in a stored record. @returns the ordinal if so */
export function ordinalIfListed(record: string, lines: string): number | undefined {
  const end = record.indexOf("\n");
  if (record.length - end - 1 !== lines.length || !record.endsWith(lines)) return undefined;
  const [ordinal, by, , , goneAtMs] = record.slice(0, end).split(" ");
  return by === "answer" || goneAtMs !== "-" ? undefined : Number(ordinal);
}

export function isGoneIn(record: string): boolean {
  return !record.slice(0, record.indexOf("\n")).endsWith(" -");
}

/** The value of an object, which is stored member by member: it can only be tested for existence. */
const objectText = "{}";

/** A field's value as filters see it, without decoding the record. */
export function fieldTextIn(record: string, field: string): string | undefined {
  const start = `\n${encodeName(field)}`;
  let isObject = false;
  for (let at = record.indexOf(start); at >= 0; at = record.indexOf(start, at + 1)) {
    const from = at + start.length;
    const mark = record[from];
    if (mark === "=" || mark === ":") {
      const end = record.indexOf("\n", from);
      return record.slice(from + 1, end < 0 ? undefined : end);
    }
    isObject ||= mark === ".";
  }
  return isObject ? objectText : undefined;
}

/** A field's value as filters see it; an object has no value of its own and exists if it has a member. */
export function fieldTextOf(sim: Pick<KnownSim, "fields"> | undefined, name: string): string | undefined {
  if (sim === undefined) return undefined;
  const value = sim.fields.get(name);
  if (value !== undefined) return textOf(value);
  return [...sim.fields.keys()].some((field) => field.startsWith(`${name}.`)) ? objectText : undefined;
}

/** A field's value as inputs have it: for comparison with what a row asks for. */
export function fieldInputOf(sim: KnownSim | undefined, name: string): string | undefined {
  const value = sim?.fields.get(name);
  return value === undefined ? fieldTextOf(sim, name) : inputTextOf(value);
}
