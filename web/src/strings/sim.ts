/** The texts of the page of one SIM, and of the changes of SIMs. */
import { counted } from "../pure/format.ts";

/** Changes that are not of a field, by the type of their event. */
export const changeWords: Readonly<Record<string, string>> = {
  "sim.added": "is new",
  "sim.gone": "is no longer listed",
  "sim.returned": "is listed again",
};

export const changesText = {
  outside: "External changes",
  outsideHint: "Changes that syncs found, newest first",
  outsideCommand: "simfleet sims changes --by outside",
  noneOutside: "No external changes.",
  seen: "Seen",
  older: "Older changes",
  becomes: " becomes ",
} as const;

export const simText = {
  title: (sim: string) => `SIM ${sim}`,
  profile: (profile: string) => `Profile ${profile}`,
  discovered: " · discovered ",
  changed: " · changed ",
  changedBy: (cause: string) => ` by a ${cause}`,
  seen: " · seen ",
  busy: "Reading …",
  readFresh: "Read from the platform now",
  newRun: "New run for this SIM",
  reading: "the SIM",
  failed: "The SIM could not be loaded",
  unknown: (profile: string) => `This SIM is not in the inventory of the profile ${profile}`,
  unknownHint: "Check the ID, or sync the fleet. If the platform has the SIM, you can read it from there.",
  goneSince: "The platform has not listed this SIM since",
  fields: "Fields",
  fieldsHint: "From the inventory",
  readAt: "Read from the platform",
  differences: (count: number) =>
    count === 0 ? ": no difference" : `: ${counted(count, "field differs", "fields differ")}`,
  moreFields: (count: number) => `${counted(count, "more field", "more fields")} of the platform's record`,
  platformFields: "Fields of the platform's record",
  field: "Field",
  value: "Value",
  inventory: "Inventory",
  platform: "Platform",
  compared: "Compared",
  differs: "differs",
  statuses: "Status history",
  statusesHint: "From the platform; reading it uses one call",
  readStatuses: "Read the status history",
  noStatuses: "The platform has no entries.",
  timeline: "Timeline",
  timelineHint: "Runs with a row for this SIM, and its changes, newest first",
  timelineFailed: "The timeline could not be loaded",
  timelineReading: "the timeline",
  noneNew: "The newest runs have no row for this SIM, and no change is recorded.",
  noneAtAll: "No run has a row for this SIM, and no change is recorded.",
  olderRuns: "Search older runs",
  olderChanges: "Older changes",
  fieldChanged: (field: string) => `${field} changed`,
  outside: "outside simfleet",
} as const;
