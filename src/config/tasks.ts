/** The sections that say what workers do by themselves. A worker takes their changes without a restart. */
import { createHash } from "node:crypto";

const taskSections = ["schedules", "automations", "rotations", "authKeys", "webhooks", "freezes", "dropFolder"];

/**
 * Names what the sections say, so that two processes can compare it: 12 hexadecimal digits.
 * @param own keys of the sections that features add
 * @returns undefined if they say nothing
 */
export function hashOfTasks(settings: object, own: readonly string[]): string | undefined {
  const said = Object.entries(settings).filter(
    ([key, section]) =>
      (taskSections.includes(key) || own.includes(key)) &&
      Object.keys((section as object | undefined) ?? {}).length > 0,
  );
  if (said.length === 0) return undefined;
  const byName = said.toSorted(([a], [b]) => a.localeCompare(b));
  return createHash("sha256").update(JSON.stringify(byName)).digest("hex").slice(0, 12);
}
