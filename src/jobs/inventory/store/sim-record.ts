/**
 * How a SIM lies in Redis: a header line, then a line for each field, so that a Lua script can tell field by field what
 * has changed without parsing JSON.
 *
 *   ordinal by addedAtMs updatedAtMs goneAtMs              (`-` where it is not gone)
 *   speedClass=s1.fast                                     a text, as it is
 *   createdTime:1712345678901                              anything else, as JSON
 *
 * The ordinal numbers the SIMs of a profile in the order in which they became known; it is never given twice.
 */
import { hash } from "node:crypto";
import { decodeName, decodeValue, encodeName, encodeValue } from "#fleet/field-text.ts";
import type { FieldValue, SimFields } from "#fleet/sim-fields.ts";

/** A SIM as it was last seen. */
export interface KnownSim {
  readonly ordinal: number;
  readonly fields: SimFields;
  /** When it became known, milliseconds since the epoch by Redis's clock, as all instants here. */
  readonly addedAtMs: number;
  /** When what is known of it last changed, or a run's answer confirmed it. */
  readonly updatedAtMs: number;
  readonly updatedBy: "sync" | "run";
  /** When a whole listing first lacked it; absent while it is listed. */
  readonly goneAtMs?: number;
}

/** Lines of the fields, as a script stores and compares them. */
export function encodeFields(fields: SimFields): string {
  const lines: string[] = [];
  for (const [name, value] of fields) lines.push(`${encodeName(name)}${encodeValue(value)}`);
  return lines.join("\n");
}

export function decodeSim(record: string): KnownSim {
  const [header = "", ...lines] = record.split("\n");
  const [ordinal, by, addedAtMs, updatedAtMs, goneAtMs] = header.split(" ");
  const fields = new Map<string, FieldValue>();
  for (const line of lines) {
    const at = separatorIn(line);
    if (at > 0) fields.set(decodeName(line.slice(0, at)), decodeValue(line.slice(at)));
  }
  return {
    ordinal: Number(ordinal),
    fields,
    addedAtMs: Number(addedAtMs),
    updatedAtMs: Number(updatedAtMs),
    updatedBy: by === "run" ? "run" : "sync",
    ...(goneAtMs === "-" ? {} : { goneAtMs: Number(goneAtMs) }),
  };
}

function separatorIn(line: string): number {
  const equals = line.indexOf("=");
  const colon = line.indexOf(":");
  if (equals < 0 || colon < 0) return Math.max(equals, colon);
  return Math.min(equals, colon);
}

/** Eleven characters that tell one text from another, and are the same for the same text. */
export function digestOf(text: string | Buffer): string {
  return hash("sha1", text, "base64url").slice(0, 11);
}
