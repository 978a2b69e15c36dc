/** The texts of the page New run: its form, and the plan. */
import { counted, grouped } from "../pure/format.ts";

export const newRunText = {
  hint: "Preview the changes first. Nothing is sent to the platform until you start the run.",
  failed: "The operations could not be loaded",
  reading: "the operations",
  settings: "Run settings",
  busy: "Planning …",
  preview: "Preview",
  updatePlan: "Update plan",
  planFailed: "The plan could not be created",
  plan: "Plan",
  noFile: "Choose a file first.",
  noFilter: "Enter a filter first.",
  noValue: (inputs: string) => `Enter a value for ${inputs}.`,
  fixFields: "Fix the highlighted fields.",

  source: "Source of SIMs",
  fromFile: "A CSV file",
  fromFilter: "A filter",
  filter: "Filter",
  filterExample: "tags.site=berlin and speedClass!=s1.slow",
  filterHint: "Same syntax as simfleet sims list --where",
  file: "CSV file",
  dropFile: "Drop a CSV file here, or choose one",
  columns: (columns: readonly string[]) =>
    `With a header line and the ${columns.length === 1 ? "column" : "columns"} ${listed(columns)}`,
  replaceFile: (size: string) => `${size} · drop or choose another to replace it`,

  operation: "Operation",
  operationHint: (summary: string, requires: string | null) =>
    `${summary}.${requires === null ? "" : ` Only SIMs with ${requires}.`}`,
  values: "Values for all rows",
  valueFromFile: "from the file",
  chooseValue: "choose one",
  noneChosen: "none",
  insteadOfColumn: "For all rows, instead of a column",
  notInInventory: "Only needed if not in the inventory",
  required: "Required",
  optional: "Optional",
  inputHint: (from: string, rule: string) => `${from}: ${rule}`,
  localTime: "local time",
  exampleFile: "Example file",
  secrets: (inputs: readonly string[]) => `Secret inputs must be columns of the file: ${listed(inputs)}`,

  options: "Options",
  name: "Name",
  nameHint: "Shown in lists",
  canary: "Canary",
  canaryHint: "Rows to try first; the rest follow only if all succeed",
  maxFailures: "Max failures",
  maxFailuresHint: "Abort if more rows than this fail, such as 50 or 5%",
  rate: "Rate",
  rateHint: "Maximum calls per minute, below the quota",
  partial: "Skip invalid rows",
  partialHint: "Otherwise, one invalid row blocks the run",
  skipUnchanged: "Skip unchanged SIMs",
  skipUnchangedHint: "Skip SIMs that already have the requested values in the inventory",
} as const;

/** What is wrong with a field of the form. */
export const faultsText = {
  integer: "Enter a whole number, such as 10.",
  tooLong: (most: number, now: number) => `Enter at most ${most} characters; there are ${now}.`,
  canary: "Enter a whole number of rows, such as 100.",
  rate: "Enter a whole number of calls per minute, such as 60.",
  maxFailures: "Enter a number of rows, such as 50, or a percentage, such as 5%.",
} as const;

/** What to know about an operation, or a plan, before it is started. */
export const cautionsText = {
  irreversible: "Irreversible: to confirm, type the number of SIMs.",
  costly: "Every call costs money.",
  costlyWhen: (filter: string) => `Calls cost money for SIMs with ${filter}.`,
  noUndo: "This operation has no undo.",
  unsafe: "A call whose response is lost is not sent again; its outcome may stay unknown.",
  irreversibleSims: (sims: number) => `The change of ${counted(sims, "SIM")} is irreversible.`,
  costlyCalls: (calls: number) => `${counted(calls, "call costs", "calls cost")} money.`,
  runWithoutUndo: "This run cannot be undone.",
} as const;

export const planText = {
  problems: "Problems",
  problemsInFile: "Problems in the file",
  problemsTitle: (all: number, shown: number) =>
    `${counted(all, "row")} cannot be sent${all > shown ? `; the first ${grouped(shown)}` : ""}`,
  column: "Column",
  rows: "Rows",
  change: "To change",
  alsoUnknown: (rows: number) => `and ${grouped(rows)} not in the inventory`,
  unchanged: "Unchanged",
  unchangedSkipped: "skipped, no call",
  unchangedSent: "will be sent anyway",
  refused: "Cannot be sent",
  notAllowed: (rows: number) => `${grouped(rows)} not allowed`,
  conflicts: (rows: number) => `${grouped(rows)} in conflict`,
  calls: "Calls",
  time: "Time",
  timeUnknown: "unknown",
  noQuota: "quota not known yet",
  atQuota: "at the current quota",
  stale: "The settings changed: update the plan first.",
  hasProblems: 'Fix the rows, or select "Skip invalid rows" and update the plan.',
  noRow: "No row can be sent.",
  starting: "Starting …",
  start: "Start the run",
  startTitle: (operation: string, calls: number) => `Start ${operation} with ${counted(calls, "call")}?`,
  startWhat: (rows: number, profile: string, time: string | undefined) =>
    `${counted(rows, "row")} of the profile ${profile}${time === undefined ? "" : `, about ${time}`}.`,
  startAfter: (hasUndo: boolean) => `You can pause it${hasUndo ? " and undo it later" : ""}.`,
  planRows: "Rows of the plan",
  verdictFilter: "Filter rows by verdict",
  all: "all",
  noRows: "No row has this verdict.",
  verdict: "Verdict",
  more: "More rows",
} as const;

/** `a`, `a and b`, `a, b and c` */
function listed(names: readonly string[]): string {
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}
