/** The texts of the pages of runs: the list, and one run. */
import { counted, grouped } from "../pure/format.ts";
import type { RunAction } from "../pure/runs/tally.ts";
import type { RunState } from "../pure/shapes.ts";

export const runsText = {
  states: [
    { value: "all", text: "All" },
    { value: "running", text: "Running" },
    { value: "paused", text: "Paused" },
    { value: "awaiting-approval", text: "Awaiting approval" },
    { value: "completed", text: "Completed" },
    { value: "aborted", text: "Aborted" },
    { value: "cancelled", text: "Cancelled" },
  ] satisfies { value: RunState | "all"; text: string }[],
  stateFilter: "Filter runs by state",
  failed: "The runs could not be loaded",
  reading: "the runs",
  list: "List of runs",
  applyCommand: "simfleet apply fleet.csv",
  none: "No runs yet. Start one with New run or on the command line.",
  noneInState: (state: string) => `No run is ${state}.`,
  older: "Older runs",
  operation: "Operation",
  run: "Run",
  rows: "Rows",
  rowsNotDone: "Not done",
  started: "Started",
  notStarted: "not yet",
  time: "Time",
  rowsOf: (settled: number, total: number) => `${grouped(settled)} of ${counted(total, "row")}`,
  unknown: (rows: number) => `${grouped(rows)} unknown`,
  left: (time: string) => `${time} left`,
  took: (time: string) => `took ${time}`,
} as const;

export const runText = {
  title: (runId: string) => `Run ${runId}`,
  reading: "the run",
  failed: "The run could not be loaded",
  outOfDate: "Data may be out of date",
  ofProfile: (profile: string) => ` · profile ${profile}`,
  by: (who: string) => ` · by ${who}`,
  undoOf: " · undoes ",
  retryOf: " · retries rows of ",
  progress: "Progress",
  rowsFinished: (settled: number, total: number) => `${grouped(settled)} of ${grouped(total)} rows finished`,
  heard: (state: string, percent: string, rows: string) => `The run is ${state}: ${percent}, ${rows}.`,
  startedAt: "Started",
  notStarted: "not yet",
  finishedAt: ", finished",
  unknownRows: (rows: number) => `${counted(rows, "row has", "rows have")} an unknown outcome`,
  unknownRowsHint:
    "The call was sent once and its response was lost, so it may have taken effect. It is not sent again, because a second call could do harm. Open the SIM below and read it from the platform to see the outcome.",
  stateHints: {
    paused: "Nothing is lost. Fix the cause, then resume.",
    aborted: "Completed rows stay changed. Check the rejected and failed rows below, then retry.",
    "awaiting-approval": "It starts when someone other than the submitter approves it.",
  } as Partial<Record<RunState, string>>,
  summary: "Summary",
  timeLeft: "Time left",
  endsAt: (time: string) => `about ${time}`,
  duration: "Duration",
  callsHint: "skipped rows need none",
  throttled: "Rate-limited (429)",
  throttledHint: "another caller used the quota",
  quotaLeft: "Quota left",
  quotaHint: (limit: number, resetsIn: string | undefined) =>
    `of ${grouped(limit)}${resetsIn === undefined ? "" : ` · resets in ${resetsIn}`}`,
  chartDone: "done or skipped",
  chartNotDone: "not done",
  chartCalls: "calls",
  table: "Rows of the run",
  outcomeFilter: "Filter rows by outcome",
  all: "all",
  change: "Change",
  more: "More rows",
  timeline: "Timeline",
  timelineHint: (window: string) => `Outcomes and calls per ${window}`,
  noWindows: "No row has an outcome yet.",
  outcomesSay: (window: string) => `Rows per ${window}`,
  callsSay: (window: string) => `Calls per ${window}`,
  outcomes: "Rows",
  calls: "Calls",
  quota: "quota",
  perMinute: "Calls per minute",
  lastWindow: (window: string) => `in the last full ${window}`,
  noFullWindow: (window: string) => `known after a full ${window}`,
  quotaUse: (percent: string) => `${percent} of the quota used in the busiest window`,
  reasons: "Why rows are not done",
  reasonsHint: (shown: number, all: number) =>
    shown === all ? "Grouped by reason, most frequent first" : `The ${shown} most frequent of ${grouped(all)} reasons`,
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

/** The buttons of a run, and what they ask before they act. */
export const runActionsText = {
  results: "Results",
  verbs: {
    approve: "Approve",
    pause: "Pause",
    resume: "Resume",
    cancel: "Cancel",
    retry: "Retry",
    undo: "Undo",
  } satisfies Record<RunAction, string>,
  stateNow: (run: string, state: string) => `${run} is ${state}.`,
  costs: (calls: number) => ` According to the inventory, ${counted(calls, "call costs", "calls cost")} money.`,
  cancel: (run: string) => `Cancel ${run}?`,
  cancelWhat: (pending: number) =>
    `${counted(pending, "row")} will not be sent. Completed rows stay changed. You can retry the cancelled rows later.`,
  cancelYes: (pending: number) => `Cancel ${counted(pending, "row")}`,
  undo: (run: string) => `Undo ${run}?`,
  undoWhat: (sims: number, profile: string) =>
    `A new run restores the previous values of up to ${counted(sims, "SIM")} of the profile ${profile}. SIMs that were changed again since are left as they are.`,
  undoYes: (sims: number) => `Restore ${counted(sims, "SIM")}`,
  retry: (run: string) => `Retry ${run}?`,
  retryWhat: (rows: number, calls: number) =>
    `A new run sends the failed and cancelled rows again: ${counted(rows, "row")}, in ${counted(calls, "call")}.`,
  rejectedLeftOut: (rows: number) =>
    `${leftOut(rows, "rejected")}, and would be rejected again. Fix the file and start a new run.`,
  unknownLeftOut: (rows: number) =>
    `${leftOut(rows, "unknown")}: the calls may have taken effect. Check these SIMs first.`,
  approve: (run: string) => `Approve ${run}?`,
  approveWhat: (sims: number, profile: string) =>
    `It changes up to ${counted(sims, "SIM")} of the profile ${profile}, and starts immediately.`,
  approveYes: "Approve and start",
} as const;

function leftOut(rows: number, outcome: string): string {
  return rows === 1 ? ` The ${outcome} row is left out` : ` The ${counted(rows, `${outcome} row`)} are left out`;
}
