/** The texts of the commands that plan, start, follow and control runs. */
import { counted, duration, grouped } from "#cli/format.ts";

/** The lines of these commands in the help of simfleet. */
export const runSummaries = {
  plan: "preview the run of a file or filter; makes no API calls",
  apply: "change SIMs from a file or filter, with a result for every row",
  runs: "list, show and control runs",
} as const;

/** What `plan` and `apply` change. */
export const orderStrings = {
  file: "CSV file with the column simId (or imsi) and a column for each input, such as speedClass",
  where: "select SIMs from the inventory with a filter instead of a file",
  operation: "what to do to each SIM (default: set-speed-class)",
  set: "a value for all rows instead of a column; repeatable",
  setFault: "It must be an input and its value, such as groupId=g-1.",
  speedClass: "one speed class for all rows; short for --set speedClass=CLASS",
  fromResults: "take a results file as input, whose values may be old",
  noRows: "give a file or --where",
  twoKindsOfRows: "give a file or --where, not both",
} as const;

export const planStrings = {
  description: "validate a file or filter and preview the run; makes no API calls",
  out: "write what the run would do with each row (its verdict) to this CSV file",
  otherPath: "Choose another path with --out",
  someInvalid: (invalid: number, rows: number) =>
    `${grouped(invalid)} of ${grouped(rows)} rows cannot be sent, so apply would reject the file. Fix it, or use --partial to process only the valid rows.`,
  allInvalid: "No row of the file can be sent; apply would reject it.",
  ofFilter: (filter: string, rows: number) => `${filter}: ${counted(rows, "SIM")}`,
  ofFile: (file: string, rows: number) => `${file}: ${counted(rows, "row")}`,
  change: (rows: number) => `${grouped(rows)} to change`,
  inClass: (rows: number) => `${grouped(rows)} already have the class, according to the inventory`,
  unchanged: (rows: number) => `${grouped(rows)} already as requested, according to the inventory`,
  notInInventory: (rows: number) => `${grouped(rows)} not in the inventory`,
  duplicate: (rows: number) => `${grouped(rows)} duplicate (sent once)`,
  conflict: (rows: number) => `${grouped(rows)} in conflict: one SIM, different values`,
  notAllowed: (rows: number) => `${grouped(rows)} not allowed by the operation`,
  invalid: (rows: number) => `${grouped(rows)} invalid`,
  problem: (line: number, message: string) => `line ${line}: ${message}`,
  more: (problems: number) => `… and ${grouped(problems)} more; --out FILE writes every row's verdict`,
  warning: (warning: string) => `warning: ${warning}`,
  costly: (calls: number) => `${grouped(calls)} of the calls cost money, according to the inventory`,
  irreversible: (calls: number) => `${grouped(calls)} of the calls are irreversible`,
  noUndo: (operation: string) => `${operation} has no undo`,
  calls: (calls: number, time: string) => `${counted(calls, "call")}, ${time}`,
  timeUnknown: "duration unknown until the first response reports the quota",
  timeShort: "fits in the current quota window",
  time: (ms: number) => `about ${duration(ms)} at the quota`,
} as const;

export const applyStrings = {
  description: "change SIMs from a file or filter: plan, run, and write a result for every row",
  what: "What to change:",
  safety: "Safety:",
  partial: "process the valid rows even if other rows are invalid",
  skipUnchanged: "skip SIMs that already have the requested values in the inventory",
  maxFailures: "abort when more rows than this fail: a number or a percentage such as 5%",
  maxFailuresFault: "It must be a number of rows, such as 20, or a percentage, such as 5%.",
  canary: "process the first n rows, and the rest only if all of them succeed",
  rate: "maximum number of calls per minute",
  run: "Run:",
  name: "name of the run (default: the file name or the filter)",
  out: "write the results to this file (default: next to the input file)",
  question: (changes: number) => `Make ${counted(changes, "change")}?`,
  callsOfNoChange: (calls: number) =>
    `${calls === 1 ? "1 more call changes" : `${grouped(calls)} more calls change`} nothing; --skip-unchanged leaves them out`,
  started: (runId: string) => `Run ${runId} started.`,
  noWorker: (runId: string) =>
    `No worker is running: the run starts with the next one (simfleet worker), or with: simfleet runs resume ${runId}`,
} as const;

/** What commands that start a run have in common. */
export const startStrings = {
  confirm: "confirm an irreversible operation with its number of SIMs; --yes is not enough",
  detach: "submit the run, print its ID and return",
  unconfirmed: (operation: string, sims: number) =>
    `${operation} is irreversible: confirm the number of SIMs with --confirm ${sims}. Nothing was started`,
  typeNumber: (operation: string, sims: number) =>
    `${operation} is irreversible. Type the number of SIMs (${grouped(sims)}): `,
} as const;

/** The commands `simfleet runs …`. */
export const runsStrings = {
  run: "ID of the run",
  finishedRun: "ID of the finished run",
  list: "list runs, newest first",
  show: "show one run",
  watchIt: "follow the run until it ends, as runs watch does",
  watch: "follow a run until it ends",
  pause: "pause a run; calls in flight are completed",
  resume: "resume a run and follow it until it ends",
  resumeOnly: "return immediately",
  cancel: "cancel a run; rows not yet sent are left unchanged",
  cancelYes: "skip the confirmation",
  cancelQuestion: (runId: string) => `Cancel ${runId}? It cannot be resumed.`,
  nothingChanged: "Nothing was changed.",
  approve: "approve a large run submitted by someone else",
  retry: "retry failed and cancelled rows in a new run",
  retryOutcome: "retry rows with this outcome instead; repeatable",
  retryQuestion: (rows: number, runId: string) => `Send ${counted(rows, "row")} of ${runId} again?`,
  retries: (runId: string, rows: number, ofRunId: string) =>
    `Run ${runId} retries ${counted(rows, "row")} of ${ofRunId}.`,
  nothingToRetry: (runId: string, outcome: string) =>
    `Run ${runId} has no failed or cancelled rows. To retry its ${outcome} rows, add --outcome ${outcome}`,
  undo: "start a new run that restores the previous values; SIMs changed since are left as they are",
  noSync: "use the inventory as it is, without syncing first",
  syncing: "Syncing first, so that later changes are not overwritten …",
  undoQuestion: (sims: number) => `Restore the previous state of ${counted(sims, "SIM")}?`,
  undoLeaves: (rows: number) =>
    rows === 1 ? "1 other row stays as it is" : `${grouped(rows)} other rows stay as they are`,
  undoNothing: (rows: number) =>
    `No SIM would be restored: ${rows === 1 ? "1 row stays as it is" : `${grouped(rows)} rows stay as they are`}. Start the run anyway, to get the reasons?`,
  restores: (runId: string, { calls, total }: { calls: number; total: number }, ofRunId: string) => {
    const rows = calls === total ? counted(total, "row") : `${grouped(calls)} of ${counted(total, "row")}`;
    return `Run ${runId} restores ${rows} of ${ofRunId}.`;
  },
  results: "print the results of a run: every input row with its outcome",
  resultsOutcome: "only rows with this outcome; repeatable",
  resultsOut: "write to this file atomically (default: stdout)",
  resultsFormat: "csv escapes cells that a spreadsheet would run as formulas; ndjson has the raw values",
  otherPath: "No outcome is lost: choose another path with --out",
  writtenTo: (path: string) => `Results: ${path}`,
  outOfFollowUp: "write the results to this file (default: in the current folder, named after the input file)",
  delete: "delete a finished run with its rows and results",
  deleteQuestion: (runId: string, name: string, rows: number) =>
    `Delete ${runId} (${name}) and the results of its ${counted(rows, "row")}? They cannot be restored.`,
  nothingDeleted: "Nothing was deleted.",
  deleted: (runId: string) => `Deleted ${runId}.`,
} as const;

/** A run as `runs show` prints it, and the list of runs. */
export const runReportStrings = {
  rows: (rows: number, outcomes: string) => `${counted(rows, "row")}: ${outcomes}`,
  calls: (calls: number) => counted(calls, "call"),
  throttled: (calls: number) => `${grouped(calls)} rate-limited`,
  inFlight: "some calls are still in flight: check again in a moment",
  started: (at: string) => `started ${at}`,
  finished: (at: string, ms: number) => `finished ${at} (${duration(ms)})`,
  left: (ms: number) => `about ${duration(ms)} left`,
  retryOf: (runId: string) => `retries rows of ${runId}`,
  retryWith: (runId: string) => `retry failed and cancelled rows: simfleet runs retry ${runId}`,
  resumeWith: (runId: string) => `resume with: simfleet runs resume ${runId}`,
  unknown: (rows: number, runId: string) =>
    `the responses of ${grouped(rows)} rows were lost, and these rows are not sent again: simfleet runs results ${runId} --outcome unknown`,
  none: "No runs yet. Start one with: simfleet apply FILE",
  withProblem: (state: string) => `${state} (problem)`,
  headings: { run: "run", rows: "rows", done: "done", pending: "pending", started: "started" },
} as const;

/** The progress of a run while a command follows it. */
export const progressStrings = {
  rows: (runId: string, state: string, settled: number, total: number) => {
    const percent = total === 0 ? 100 : Math.floor((100 * settled) / total);
    return `${runId} ${state}: ${grouped(settled)} of ${grouped(total)} rows (${percent}%)`;
  },
  rate: (perSecond: string) => `${perSecond}/s`,
  eta: (ms: number) => `ETA ${duration(ms)}`,
  left: (ms: number) => `about ${duration(ms)} left`,
  noQuotaYet: "waiting for the first response",
  quota: (left: number, limit: number) => `quota ${grouped(left)}/${grouped(limit)}`,
  resetsIn: (ms: number) => `resets in ${duration(ms)}`,
  rejected: (rows: number) => `${grouped(rows)} rejected`,
  failed: (rows: number) => `${grouped(rows)} failed`,
} as const;

/** What a command says when it stops following a run. */
export const followStrings = {
  workerSilent: (ms: number) =>
    `The worker has not answered for ${duration(ms)}. Nothing is lost: the run continues there.`,
  redisSilent: (ms: number) => `Redis has not answered for ${duration(ms)}. Nothing is lost: the run waits for it.`,
  leftInSilence: (runId: string) =>
    `Redis is not responding, so this command stopped. No recorded outcome is lost. When Redis is back, resume with: simfleet runs resume ${runId}`,
  waitsForApproval: (runId: string) =>
    `The run is waiting for approval by someone else: simfleet runs approve ${runId}`,
  wasPaused: (reason: string | undefined, runId: string) =>
    `The run was paused${reason ? ` (${reason})` : ""}. Resume with: simfleet runs resume ${runId}`,
  continues: (runId: string) => `The run continues in its worker. Follow it with: simfleet runs watch ${runId}`,
  pauseWith: (runId: string) => `Pause it with: simfleet runs pause ${runId}`,
  stopping: "Stopping: waiting for calls in flight …",
  paused: (rows: number) => `Paused. ${counted(rows, "row")} left; nothing is lost.`,
  resumeWith: (command: string) => `Resume with: ${command}`,
  byCtrlC: "stopped with Ctrl-C",
} as const;

/** The last lines of a command that followed a run to its end. */
export const endStrings = {
  results: (path: string) => `Results: ${path}`,
  otherPath: (command: string) => `No outcome is lost: write them to another path with ${command}`,
  done: "done",
  skipped: "skipped",
  doneOrSkipped: "done or skipped",
  success: (rows: number, outcome: string) =>
    rows === 1 ? `Success: the row is ${outcome}.` : `Success: all ${grouped(rows)} rows are ${outcome}.`,
  notAllDone: (outcomes: string, rows: number) =>
    rows === 1 ? `The row is not done: ${outcomes}.` : `Not all ${grouped(rows)} rows are done: ${outcomes}.`,
} as const;
