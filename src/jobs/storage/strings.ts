/** The texts of the command `simfleet storage`. */
import { counted } from "#cli/format.ts";

export const storageSummary = "Redis memory by kind of data";

export const storageStrings = {
  description: "show Redis memory by kind of data, and how long each is kept",
  headings: ["DATA", "SIZE", "KEYS", "KEPT"],
  other: "other",
  used: (used: string, limit: string) => `${used} of ${limit} used`,
  noMaxmemory: (limit: string) => `${limit} (the machine's memory; Redis has no maxmemory)`,
  formerProfile: (profile: string, since: string, removedAt: string) =>
    `The profile ${profile} is not configured since ${since}; its data are removed on ${removedAt}.`,
  noArchive: "Rows are removed without an archive.",
  archive: (place: string) => `Results are archived in ${place}.`,
  days: (days: number) => counted(days, "day"),
} as const;
