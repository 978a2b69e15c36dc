/** Columns that the tables of Credential Sets share. */
import { systemClock } from "#core/time.ts";
import type { SetReport } from "../contract.ts";
import { duration } from "#cli/format.ts";

/** How long ago an instant was; `-` where it is not known. */
export function ageText(instant: string | null): string {
  return instant === null ? "-" : duration(Math.max(0, systemClock.wallMs() - Date.parse(instant)));
}

export function referencesText(references: SetReport["references"]): string {
  if (references === null) return "unknown";
  if (references.length === 0) return "nothing";
  const places = references.map(({ groupId, namespace, how }) => `${groupId}/${namespace}${how === "id" ? "" : "?"}`);
  const first = places.slice(0, 3).join(" ");
  return places.length > 3 ? `${first} and ${places.length - 3} more` : first;
}
