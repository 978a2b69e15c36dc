/**
 * Where a value lies in a record of the platform: names joined by dots, `*` for any member, as in
 * `profiles.*.primaryImsi`. Deployments place a SIM's IMSI differently, so the path is theirs to say. It is no query
 * language: nothing is computed, and a path can only lead down into what the record itself has.
 */

/** The parsed steps of a path; `*` is any member of an object or array. */
export type RecordPath = readonly string[];

/** Where a deployment keeps what simfleet wants to know of a SIM; absent: the records do not tell. */
export interface RecordPaths {
  readonly imsi?: RecordPath | undefined;
  readonly subscription?: RecordPath | undefined;
}

const mostSteps = 16;

/** The steps of a path, or undefined where the text is none. */
export function parseRecordPath(text: string): RecordPath | undefined {
  const steps = text.split(".");
  const isPath = steps.length <= mostSteps && steps.every((step) => step === "*" || /^[A-Za-z0-9_-]{1,64}$/.test(step));
  return isPath ? steps : undefined;
}

/** The text at a path; of several members the first, in the record's order, that has one. Empty text is no text. */
export function textAt(record: unknown, path: RecordPath): string | undefined {
  return textBelow(record, path, 0);
}

function textBelow(value: unknown, path: RecordPath, depth: number): string | undefined {
  const step = path[depth];
  if (step === undefined) return typeof value === "string" && value !== "" ? value : undefined;
  if (typeof value !== "object" || value === null) return undefined;
  if (step !== "*")
    return Object.hasOwn(value, step) ? textBelow(Reflect.get(value, step), path, depth + 1) : undefined;
  for (const member of Object.values(value)) {
    const found = textBelow(member, path, depth + 1);
    if (found !== undefined) return found;
  }
  return undefined;
}
