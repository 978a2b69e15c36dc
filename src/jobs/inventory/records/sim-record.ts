/**
 * The storage format of a SIM in Redis: a header line, then a line for each field, so that a Lua script can find
 * changes field by field without parsing JSON.
 *
 *   ordinal by addedAtMs updatedAtMs goneAtMs              (`-` if it is not gone)
 *   speedClass=s1.fast                                     a text, as it is
 *   createdTime:1712345678901                              anything else, as JSON
 *
 * The ordinal numbers the SIMs of a profile in the order in which they were added; ordinals are never reused. `by` is
 * `sync` or `run`, or `answer` if only the response to a change has shown the SIM: fields may be missing.
 */
import { type FieldSelection, type SimFields, inputTextOf, visitFields } from "#fleet/sim/sim-fields.ts";
import { type FieldValue, decodeName, decodeValue, encodeName, encodeValue } from "#fleet/sim/field-text.ts";

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

/** The last known state of a SIM. Most readers need few of its fields, or none: each read of `fields` decodes them. */
export class KnownSim {
  readonly record: string;
  readonly ordinal: number;
  /** When it was added, milliseconds since the epoch by Redis's clock, as all times in this file. */
  readonly addedAtMs: number;
  /** When its stored state last changed, or a run's response confirmed it. */
  readonly updatedAtMs: number;
  readonly updatedBy: "sync" | "run";
  /** When a complete listing first lacked it; undefined while it is listed. */
  readonly goneAtMs: number | undefined;

  constructor(record: string) {
    const [ordinal, by, addedAtMs, updatedAtMs, goneAtMs] = record.slice(0, record.indexOf("\n")).split(" ");
    this.record = record;
    this.ordinal = Number(ordinal);
    this.addedAtMs = Number(addedAtMs);
    this.updatedAtMs = Number(updatedAtMs);
    this.updatedBy = by === "sync" ? "sync" : "run";
    this.goneAtMs = goneAtMs === "-" ? undefined : Number(goneAtMs);
  }

  get fields(): SimFields {
    const fields = new Map<string, FieldValue>();
    for (const line of this.record.split("\n").slice(1)) {
      const at = line.search(/[=:]/);
      if (at > 0) fields.set(decodeName(line.slice(0, at)), decodeValue(line.slice(at)));
    }
    return fields;
  }
}

/** A SIM as the platform shows it now. */
export function seenSim(record: Readonly<Record<string, unknown>>, selection: FieldSelection): KnownSim {
  return new KnownSim(`0 run 0 0 -\n${encodeRecord(record, selection)}`);
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

/** The value of a field after its mark, as encoded; an object's, which is not stored, is a text. */
function encodedIn(record: string, field: string): string | undefined {
  const start = `\n${encodeName(field)}`;
  let isObject = false;
  for (let at = record.indexOf(start); at >= 0; at = record.indexOf(start, at + 1)) {
    const from = at + start.length;
    const mark = record[from];
    if (mark === "=" || mark === ":") {
      const end = record.indexOf("\n", from);
      return record.slice(from, end < 0 ? undefined : end);
    }
    isObject ||= mark === ".";
  }
  return isObject ? `=${objectText}` : undefined;
}

/** A field's value as filters see it; an object has no value of its own and exists if it has a member. */
export function fieldTextIn(record: string, field: string): string | undefined {
  return encodedIn(record, field)?.slice(1);
}

/** A field's value as `fieldTextIn` has it; none of a SIM that is not known. */
export function fieldTextOf(sim: KnownSim | undefined, name: string): string | undefined {
  return sim && fieldTextIn(sim.record, name);
}

/** A field's value as inputs have it: for comparison with what a row asks for. */
export function fieldInputOf(sim: KnownSim | undefined, name: string): string | undefined {
  const encoded = sim && encodedIn(sim.record, name);
  return encoded === undefined ? undefined : inputTextOf(decodeValue(encoded));
}
