/** The texts of the commands of the inventory. */
import { counted, duration, grouped } from "#cli/format.ts";

export const simsSummary = "inventory: SIMs as last seen on the platform";

/** The commands `simfleet sims …`. */
export const simsStrings = {
  list: "list SIMs, most recently discovered first",
  count: "count SIMs in total or by the values of a field",
  countBy: "count for each value of this field, such as speedClass or tags.site",
  counted: (sims: number) => counted(sims, "SIM"),
  headings: { sims: "SIMs" },
  show: "show one SIM as last seen, or as it is now",
  sim: "SIM ID, or IMSI",
  fresh: "read it from the platform now; uses one call",
  export: "export the inventory as CSV (accepted by plan and apply) or as NDJSON with raw values",
  format: "format of the output",
  exportColumns: "comma-separated CSV columns, such as simId,speedClass,tags.site",
  out: "write to this file atomically (default: stdout)",
  otherPath: "Choose another path with --out",
  writtenTo: (path: string) => `Inventory: ${path}`,
  where: "only SIMs that match a filter",
  gone: "only SIMs that the platform no longer lists",
  none: "No SIM matches.",
  notSynced: "The inventory has not been synced yet; run: simfleet sims sync",
} as const;

export const changesStrings = {
  description: "list changes of the fleet, newest first",
  since:
    "only changes since an age such as 90m, 24h or 7d, or a date or time such as 2026-11-20 or 2026-11-20T08:00, in local time unless it has an offset",
  sim: "only changes of this SIM",
  field: "only changes of this field, such as speedClass or tags.site",
  by: "only changes by runs, or only changes from outside",
  kind: "only this kind of change",
  none: "No changes recorded.",
  noValue: "none",
} as const;

export const syncStrings = {
  description: "sync the inventory with the platform; resumes an interrupted sync",
  restart: "start over from the first page",
  resuming: (startedAt: string, pages: number) => `Resuming the sync of ${startedAt}, after ${counted(pages, "page")}.`,
  noWorker: "No worker is running: the sync starts with the next one (simfleet worker), or with: simfleet sims sync",
  marking: "marking SIMs that are gone",
  progress: (sims: number, pages: number) => `${counted(sims, "SIM")}, ${counted(pages, "page")}`,
  resetsIn: (seconds: number) => `, the quota resets in ${seconds} s`,
  pageProblem: (page: number, problem: string) => `page ${grouped(page)} could not be read: ${problem}`,
  continues: "The sync continues in its worker.",
  stopped: (pages: number) => `Nothing is lost: stopped after page ${grouped(pages)}. Resume with: simfleet sims sync`,
  failed: (reason: string) => `The sync failed: ${reason}`,
  unknownReason: "unknown reason",
  noDifference: "nothing has changed",
  soFar: "so far",
  took: (ms: number) => `in ${duration(ms)}`,
  report: (sims: number, pages: number, time: string, differences: string) =>
    `${counted(sims, "SIM")} on ${counted(pages, "page")} ${time}: ${differences}`,
} as const;
