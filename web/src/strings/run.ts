/** The texts of the run page that are about its course and its rows. */
import { counted, grouped } from "../pure/format.ts";

export const runText = {
  timeline: "Course",
  timelineHint: (window: string) => `Outcomes and calls per ${window}`,
  noWindows: "No row has an outcome yet.",
  outcomesSay: (window: string) => `Rows per ${window}`,
  callsSay: (window: string) => `Calls per ${window}`,
  outcomes: "Rows",
  calls: "Calls",
  quota: "quota",
  perMinute: "Calls per minute",
  perMinuteWhat: "Calls of the last two minutes, or since the start until this page has seen one minute of the run",
  sinceStart: "since the start",
  lastMinutes: "over the last 2 minutes",
  quotaUse: (percent: string) => `${percent} of the quota used in the fullest window`,
  reasons: "Why rows are not done",
  reasonsHint: (shown: number, all: number) =>
    shown === all
      ? "Grouped by reason, the most frequent first"
      : `The ${shown} most frequent of ${grouped(all)} reasons`,
  showRows: "Show the rows",
  rowsOf: (reason: string) => `Show the rows with the reason: ${reason}`,
  searchRows: "Search by SIM ID or IMSI",
  anyReason: "All reasons",
  selectRow: (line: number) => `Select line ${grouped(line)}`,
  select: "Select",
  noSelection: "Rows cannot be selected for a retry, because calls of this operation must not be repeated.",
  retrySelected: (rows: number) => `Retry ${counted(rows, "selected row")}`,
  retryTitle: (rows: number) => `Retry ${counted(rows, "row")}?`,
  retryWhat: (calls: string) => `A new run sends the selected rows again, in ${calls}.`,
  retryYes: (rows: number) => `Retry ${counted(rows, "row")}`,
  started: (runId: string) => `Run ${runId} started.`,
  nothing: "No row matches.",
} as const;
