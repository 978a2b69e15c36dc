/**
 * The location of a value in a platform record: names joined by dots, `*` for any member, as in
 * `profiles.*.primaryImsi`. Platforms store a SIM's IMSI in different places, so the path is configurable. It is not
 * a query language: nothing is computed, and a path can only descend into the record's own members.
 */

/** The parsed steps of a path; `*` is any member of an object or array. */
export type RecordPath = readonly string[];

const maxSteps = 16;

/** The steps of a path, or undefined if the text is not a path. */
export function parseRecordPath(text: string): RecordPath | undefined {
  const steps = text.split(".");
  const isPath = steps.length <= maxSteps && steps.every((step) => step === "*" || /^[A-Za-z0-9_-]{1,64}$/.test(step));
  return isPath ? steps : undefined;
}

/** The text at a path; with several members, the first in record order that has one. Empty text counts as absent. */
export function textAt(value: unknown, path: RecordPath, depth = 0): string | undefined {
  const step = path[depth];
  if (step === undefined) return typeof value === "string" && value !== "" ? value : undefined;
  if (typeof value !== "object" || value === null) return undefined;
  if (step !== "*") return Object.hasOwn(value, step) ? textAt(Reflect.get(value, step), path, depth + 1) : undefined;
  for (const member of Object.values(value)) {
    const found = textAt(member, path, depth + 1);
    if (found !== undefined) return found;
  }
  return undefined;
}
