/**
 * The storage format of a SIM in Redis: a header line, then a line for each field, so that a Lua script can find changes
 * field by field without parsing JSON.
 *
 *   ordinal by addedAtMs updatedAtMs goneAtMs              (`-` if it is not gone)
 *   speedClass=s1.fast                                     a text, as it is
 *   createdTime:1712345678901                              anything else, as JSON
 *
 * The ordinal numbers the SIMs of a profile in order of discovery; ordinals are never reused.
 */
import { hash } from "node:crypto";
import { decodeName, decodeValue, encodeName, encodeValue } from "#fleet/sim/field-text.ts";
import type { FieldValue } from "#fleet/sim/field-value.ts";
import type { SimFields } from "#fleet/sim/sim-fields.ts";

/** The last known state of a SIM. */
export interface KnownSim {
  readonly ordinal: number;
  readonly fields: SimFields;
  /** When it was discovered, milliseconds since the epoch by Redis's clock, as all times in this file. */
  readonly addedAtMs: number;
  /** When its stored state last changed, or a run's response confirmed it. */
  readonly updatedAtMs: number;
  readonly updatedBy: "sync" | "run";
  /** When a complete listing first lacked it; absent while it is listed. */
  readonly goneAtMs?: number;
}

/** Encodes fields as lines, as scripts store and compare them. */
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

/** A digest of eleven characters. */
export function digestOf(text: string | Buffer): string {
  return hash("sha1", text, "base64url").slice(0, 11);
}
