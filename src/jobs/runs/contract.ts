/** The routes of runs, and of the plans that they are started from. */
import { grouped } from "#core/grouped.ts";
import { z } from "zod";
import {
  count,
  currentProblem,
  id,
  instant,
  list,
  ofPage,
  ofProfile,
  pageOf,
  several,
  flag,
} from "#contract/fields.ts";
import { deleteRoute, getRoute, postRoute } from "#contract/route.ts";
import { messageOf } from "#core/errors.ts";
import { outcomes, rowProblemCodes, runStates } from "#fleet/run.ts";
import { type WrittenWaves, failureActions, wavesOf } from "#fleet/waves.ts";

/** Changes of a run on one account, counted; shared by plans and runs. */
const changed = {
  profile: z.string(),
  operator: z.string().optional().describe("ID of the profile's operator, if it is known"),
  operation: z.string().describe("what it does to each SIM"),
  changes: z
    .array(
      z.object({
        from: z.string().nullable().optional().describe("null: no value; absent: not known to the inventory"),
        to: z.string().nullable().describe("null: no value"),
        count,
      }),
    )
    .readonly()
    .describe(
      "its most frequent changes, at most 10; a value is `field=value` if several fields are set, or their names differ",
    ),
  changesInAll: count.describe("SIMs that get a call"),
} as const;

/** Changes of a run, for display. */
export type Changed = Readonly<z.infer<z.ZodObject<typeof changed>>>;

const changesShown = 3;

/** `set-speed-class on OP0000000001 (default): s1.fast → s1.slow 41, none → s1.slow 19` */
export function changedText({ profile, operator, operation, changes, changesInAll }: Changed): string {
  const shown = changes.slice(0, changesShown);
  const others = shown.reduce((left, one) => left - one.count, changesInAll);
  const parts = shown.map((change) => {
    const before = change.from === undefined ? "unknown" : (change.from ?? "none");
    return `${before} → ${change.to ?? "none"} ${grouped(change.count)}`;
  });
  if (others > 0 && shown.length > 0) parts.push(`and ${grouped(others)} other ${others === 1 ? "change" : "changes"}`);
  else if (others > 0) parts.push(others === 1 ? "1 SIM" : `${grouped(others)} SIMs`);
  else if (shown.length === 0) parts.push("nothing to change");
  return `${operation} on ${operator === undefined ? profile : `${operator} (${profile})`}: ${parts.join(", ")}`;
}

/** `93.3%` */
export function percent(part: number, all: number): string {
  return `${((100 * part) / Math.max(1, all)).toFixed(1)}%`;
}

const waveCheck = z.object({
  judged: count.describe("SIMs that were read again"),
  before: count.describe("SIMs among them that met the gate before the wave"),
  after: count.describe("SIMs among them that met it after the wave"),
  isHeld: z.boolean(),
  lost: z.array(z.string()).readonly().describe("the first SIMs that no longer meet it, at most 20"),
});

/** Result of a gate after a wave. */
export type WaveCheck = Readonly<z.infer<typeof waveCheck>>;

const waves = z.object({
  soakSeconds: z.number(),
  gate: z.string().optional(),
  onFailure: z.enum(failureActions),
  reads: count.describe("SIMs that are read again in all, with a call each, or with a sync after each wave"),
  parts: z.array(
    z.object({
      sims: count.describe("SIMs of the wave that get a call"),
      met: count.describe("SIMs of it that met the gate when the run was planned"),
      judged: count.describe("SIMs of it that are judged after it; 0: the next wave begins without that"),
      check: waveCheck.nullable(),
    }),
  ),
});

/** The present wave of a run. `checking`: its soak is over, and its SIMs are read again. */
const states = ["running", "soaking", "checking"] as const;
const wave = z.object({ number: count, of: count, state: z.enum(states), until: instant.nullable() });

const ahead = z
  .object({
    runs: z.array(z.string()).readonly(),
    calls: count.describe("calls of these runs that come before its last one"),
    startsInSeconds: z.number().describe("time to its first call; 0 if it is its turn"),
  })
  .optional()
  .describe("running runs that use the same quota; absent if none comes before the end");

export const runReport = z.object({
  runId: z.string(),
  name: z.string(),
  state: z.enum(runStates),
  ...changed,
  counts: z
    .object({
      total: count,
      done: count,
      skipped: count,
      rejected: count,
      failed: count,
      unknown: count.describe("sent once, response lost, and not sent again: they may have been done"),
      cancelled: count,
      pending: count,
    })
    .describe("rows by outcome; they add up to the total"),
  calls: count.describe("calls made, including those that were rejected or whose response was lost"),
  throttled: count.describe("responses with 429 among them"),
  startedAt: instant.nullable(),
  finishedAt: instant.nullable(),
  etaSeconds: z
    .number()
    .nullable()
    .describe(
      "expected time to the end, with the calls of other runs that come before; null if the run has ended, is paused, has a problem, or the quota is unknown",
    ),
  ahead,
  wave: wave.optional(),
  waves: waves.optional(),
  reason: z.string().optional().describe("why it ended early or is paused"),
  frozen: z.string().optional().describe("why it makes no calls: changes are frozen; it continues by itself"),
  problem: currentProblem,
  rowsRemovedAt: instant.optional().describe("when its rows were removed to make room; absent while they are kept"),
  archive: z.string().optional().describe("the file that its results were written to before"),
  submittedBy: z.string().optional().describe("who submitted it: `cli:anna`, `schedule:nightly`"),
  retryOf: z.string().optional().describe("the run whose unsuccessful rows this run retries"),
  undoOf: z.string().optional().describe("the run whose changes this run undoes"),
  supersededBy: z
    .array(z.object({ runId: z.string(), rows: count }))
    .readonly()
    .optional()
    .describe("later runs that set the same fields: so many pending rows were skipped for them"),
});

export type RunReport = Readonly<z.infer<typeof runReport>>;

const ofRow = {
  line: count,
  key: z.string().describe("SIM ID or IMSI"),
  inputs: z.record(z.string(), z.string()).describe("the operation's inputs; secret ones are left out"),
  changes: list(
    z.object({
      field: z.string(),
      before: z.string().nullable().optional().describe("null: no value; absent: not known to the inventory"),
      after: z.string().nullable(),
    }),
  ).describe("the fields of the SIM that the operation sets"),
} as const;

const rowReport = z.object({
  ...ofRow,
  outcome: z.enum(outcomes),
  reason: z.string(),
  attempts: count,
  finishedAt: instant.nullable().describe("null while there is no outcome"),
});

export type RowReport = Readonly<z.infer<typeof rowReport>>;

const simRun = rowReport.extend({
  runId: z.string(),
  name: z.string(),
  operation: z.string(),
  state: z.enum(runStates),
  createdAt: instant,
});

/** A run's row for a SIM. */
export type SimRun = Readonly<z.infer<typeof simRun>>;

export const verdicts = [
  "change",
  "unchanged",
  "not-in-inventory",
  "duplicate",
  "conflict",
  "rejected",
  "invalid",
] as const;
/**
 * What a run would do with a row: `change`: a call that changes the SIM, as far as the inventory knows; `unchanged`:
 * the SIM is already as requested; `not-in-inventory`: the inventory was synced, and the SIM is missing from it or
 * gone; `duplicate`: shares the call of an earlier row; `conflict`: another row requests different values for its SIM;
 * `rejected`: the SIM does not match what the operation requires.
 */
export type RowVerdict = (typeof verdicts)[number];

const rowProblem = { column: z.string(), code: z.enum(rowProblemCodes), message: z.string() } as const;

export const planReport = z.object({
  file: z.string().optional().describe("the file; either this or `where` is set"),
  where: z.string().optional().describe("the filter"),
  sha256: z.string().describe("hash of the rows, hex"),
  ...changed,
  rows: count,
  verdicts: z.record(z.enum(verdicts), count),
  unchangedSkipped: count.describe("rows that change nothing and are not sent"),
  calls: count,
  costly: count.describe("calls that cost money, as far as the inventory knows"),
  irreversible: count.describe("irreversible calls, which must be confirmed with their number"),
  hasUndo: z.boolean().describe("whether the run could be undone"),
  estimateSeconds: z
    .number()
    .nullable()
    .describe("expected time at the current quota, with the calls of other runs; null while the quota is unknown"),
  ahead,
  othersPerMinute: count.describe("calls of others on the account that the estimate leaves room for"),
  waves: waves.optional(),
  problems: list(z.object({ line: count, ...rowProblem })).describe("the first problems, in row order"),
  problemsInAll: count,
  supersedes: list(z.object({ runId: z.string(), sims: count })).describe(
    "runs that are not over, and how many SIMs of theirs with pending changes the start of this run would supersede",
  ),
  warnings: list(z.string()).describe("for people; also what it supersedes"),
});

export type PlanReport = Readonly<z.infer<typeof planReport>>;

const storedPlan = planReport.extend({ planId: z.string(), expiresAt: instant });

/** A plan that a run can be started from. */
export type PlanDocument = Readonly<z.infer<typeof storedPlan>>;

const planRow = z.object({
  ...ofRow,
  verdict: z.enum(verdicts),
  problem: z.object(rowProblem).optional(),
});

export type PlanRow = Readonly<z.infer<typeof planRow>>;

// How rows are to be planned and run, as the query of a request.

const positive = z.coerce.number().int().min(1).optional();
const text = z.string().max(4_200).optional();

const orderFields = {
  ...ofProfile,
  operation: z.string().min(1).max(64).optional().describe("what to do to each SIM; default set-speed-class"),
  speedClass: z.string().min(1).max(100).optional().describe("short for set.speedClass"),
  name: z.string().min(1).max(200).optional().describe("a name for the run"),
  partial: flag.describe("process the valid rows even if other rows are invalid"),
  fromResults: flag.describe("accept a results file of a run as input, which is rejected otherwise"),
  allowUnlisted: flag.describe(
    "send speed classes that the platform definition does not list, which are invalid otherwise",
  ),
  skipUnchanged: flag.describe(
    "`true`: skip SIMs that, according to the inventory, the operation would not change, also those that became so before the run started; `false`: send them; by default those are skipped whose record is younger than a day, unless another run of the account is in progress",
  ),
  rate: z.coerce.number().int().min(1).optional().describe("maximum number of calls per minute"),
  maxFailures: z
    .string()
    .regex(/^(?:\d{1,9}|(?:100|\d{1,2})(?:\.\d+)?%)$/, "must be a number of rows, or a percentage such as 5%")
    .optional()
    .describe("abort when more rows than this fail: a number or a percentage such as 5%"),
  waves: text.describe("process the rows in waves: `20,5%,100%`, cumulative"),
  soak: text.describe("time between the end of a wave and its check, such as `10m`"),
  gate: text.describe("what SIMs of a wave have to meet before the next one: `sessionStatus.online=true >= 95%`"),
  minSample: positive.describe("do not judge waves with fewer SIMs; default 1"),
  sample: positive.describe("judge at most so many SIMs of a wave; default 200"),
  onFailure: z.enum(failureActions).optional().describe("what to do if a wave does not meet its gate; default `pause`"),
  canary: positive.describe("short for the waves `n,100%`: the rest only if the first n rows succeed"),
  confirm: confirmedIn(z.coerce.number()),
} as const;

/** The number of calls that cannot be undone, from a user. */
function confirmedIn(number: z.ZodNumber) {
  return number
    .int()
    .min(0)
    .optional()
    .describe("the number of SIMs, to confirm an irreversible operation; required for one");
}

/** The query of rows: the fields, and values for all rows as `set.<input>`. */
function orderQueryWith<const T extends z.ZodRawShape>(fields: T) {
  return z.looseObject({ ...orderFields, ...fields }).superRefine((query, context) => {
    for (const [name, value] of Object.entries(query)) {
      if (name in orderFields || name in fields) continue;
      if (!/^set\.[A-Za-z][A-Za-z0-9_]{0,63}$/.test(name))
        context.addIssue({ code: "unrecognized_keys", keys: [name] });
      else if (typeof value !== "string" || value.length > 2_000) {
        context.addIssue({ code: "custom", path: [name], message: "must be one text of at most 2,000 characters" });
      }
    }
    try {
      wavesOf(query as WrittenWaves);
    } catch (thrown) {
      context.addIssue({ code: "custom", path: [], message: messageOf(thrown) });
    }
  });
}

export const orderQuery = orderQueryWith({});

/** How rows are to be planned and run, as the query has it. */
export type OrderQuery = z.output<typeof orderQuery>;

const reason = z
  .string()
  .min(1)
  .max(2_000)
  .optional()
  .describe("only rows with this reason, as the summary has it: `…` stands for any text");

const ofPlan = z.strictObject({ planId: id });
const ofRun = z.strictObject({ runId: id });

export const createPlan = postRoute({
  path: "/plans",
  did: "created a plan",
  summary: "Create a plan from a CSV file or a filter",
  description:
    "The body is the file (text/csv), a form with it in the field `file`, or JSON with `where`, `operation` and `set`. A value for all rows is a query parameter such as `set.groupId`.",
  query: orderQuery,
  rows: "required",
  answer: storedPlan,
  status: 201,
});

export const showPlan = getRoute({
  path: "/plans/:planId",
  summary: "Get a plan",
  params: ofPlan,
  answer: storedPlan,
});

export const listPlanRows = getRoute({
  path: "/plans/:planId/rows",
  summary: "List the rows of a plan, in file order",
  params: ofPlan,
  query: z.strictObject({ ...ofPage, verdict: z.enum(verdicts).optional() }),
  answer: pageOf("rows", planRow),
});

export const downloadVerdicts = getRoute({
  path: "/plans/:planId/verdicts",
  summary: "Download the verdicts: every input row with what a run would do with it",
  params: ofPlan,
  answer: "lines",
});

export const deletePlan = deleteRoute({
  path: "/plans/:planId",
  did: "deleted a plan",
  role: "operator",
  summary: "Delete a plan",
  params: ofPlan,
});

/** `retried r-1 by r-2: set-speed-class on OP0000000001 (default): s1.fast → s1.slow 41` */
function aboutStart(run: RunReport): string {
  const { runId, retryOf, undoOf } = run;
  if (retryOf !== undefined) return `retried ${retryOf} by ${runId}: ${changedText(run)}`;
  return undoOf === undefined ? changedText(run) : `undid ${undoOf} by ${runId}: ${changedText(run)}`;
}

export const startRun = postRoute({
  path: "/runs",
  did: "started a run",
  summary: "Start a run from a CSV file, a filter or a plan",
  description:
    "The body is the file (text/csv), a form with it in the field `file`, or JSON with `where`, `operation` and `set`; it is empty with `planId`.",
  query: orderQueryWith({ planId: z.string().optional().describe("start what was planned") }),
  rows: "optional",
  answer: runReport,
  about: aboutStart,
  status: 202,
});

export const listRuns = getRoute({
  path: "/runs",
  summary: "List runs, newest first; of all profiles unless one is given",
  query: z.strictObject({ ...ofProfile, ...ofPage, state: z.enum(runStates).optional() }),
  answer: pageOf("runs", runReport),
});

export const showRun = getRoute({
  path: "/runs/:runId",
  summary: "Get a run",
  params: ofRun,
  answer: runReport,
});

export const listRunRows = getRoute({
  path: "/runs/:runId/rows",
  summary: "List the rows of a run with their outcomes, in file order",
  params: ofRun,
  query: z.strictObject({
    ...ofPage,
    outcome: several(z.enum(outcomes)),
    search: z.string().min(1).max(100).optional().describe("part of the SIM ID or IMSI"),
    reason,
  }),
  answer: pageOf("rows", rowReport),
});

export const listRunsOfSim = getRoute({
  path: "/sims/:sim/runs",
  summary: "List the rows of runs for a SIM, newest run first",
  description: "The rows of runs are scanned: a page may be empty and still have a nextCursor.",
  params: z.strictObject({ sim: id }),
  query: z.strictObject({ ...ofProfile, ...ofPage }),
  answer: pageOf("runs", simRun),
});

export const downloadResults = getRoute({
  path: "/runs/:runId/results",
  summary: "Download the results: every input row with its outcome",
  params: ofRun,
  query: z.strictObject({
    outcome: several(z.enum(outcomes)),
    format: z.enum(["csv", "ndjson"]).default("csv").describe("ndjson keeps cells raw"),
  }),
  answer: "lines",
});

function stepRoute<const Step extends string>(step: Step, did: string, summary: string) {
  const path = `/runs/:runId/${step}` as const;
  return postRoute({ path, did, summary, params: ofRun, answer: runReport });
}

export const pauseRun = stepRoute("pause", "paused the run", "Pause a run; calls in flight are completed");
export const resumeRun = stepRoute("resume", "resumed the run", "Resume a run");
export const cancelRun = stepRoute("cancel", "cancelled the run", "Cancel a run; rows not yet sent are left unchanged");
export const approveRun = stepRoute("approve", "approved the run", "Approve a run submitted by someone else");

export const deleteRun = deleteRoute({
  path: "/runs/:runId",
  did: "deleted the run",
  role: "admin",
  summary: "Delete a finished run with its rows and results",
  params: ofRun,
});

const confirm = confirmedIn(z.number());

export const retryRun = postRoute({
  path: "/runs/:runId/retry",
  did: "started the retry",
  summary: "Retry failed and cancelled rows in a new run; with a reason, rejected ones as well",
  params: ofRun,
  body: z
    .strictObject({
      outcomes: z.array(z.enum(outcomes)).min(1).optional().describe("retry rows with these outcomes instead"),
      lines: z.array(count.int().min(1)).min(1).max(1_000).optional().describe("only the rows on these lines"),
      reason,
      confirm,
    })
    .nullish()
    .meta({ example: { outcomes: ["failed", "rejected"] } }),
  answer: runReport,
  about: aboutStart,
  status: 202,
});

export const undoRun = postRoute({
  path: "/runs/:runId/undo",
  did: "started the undo",
  summary: "Start a new run that restores the previous values; SIMs changed since are left as they are",
  description: "It uses the inventory: run a sync just before.",
  params: ofRun,
  body: z.strictObject({ confirm }).nullish(),
  answer: runReport,
  about: aboutStart,
  status: 202,
});

// The route that counts the rows of a run over time, and by reason.

const runSummary = z.object({
  at: instant.describe("when the rows were counted"),
  windowSeconds: z.number().describe("length of a window: a multiple of the quota's period"),
  windows: list(
    z.object({
      at: instant.describe("start of the window"),
      calls: count.describe("attempts of the rows that got their outcome in it"),
      quota: count.nullable().describe("calls that the quota allowed in it; null if it is not known"),
      done: count,
      skipped: count,
      rejected: count,
      failed: count,
      unknown: count,
    }),
  ).describe("outcomes over time, oldest first; without windows that have none"),
  reasons: list(z.object({ outcome: z.enum(outcomes), reason: z.string(), rows: count })).describe(
    "the most frequent reasons of rows that are neither done nor skipped",
  ),
  reasonsInAll: count,
});

export type RunSummary = Readonly<z.infer<typeof runSummary>>;

export const showRunSummary = getRoute({
  path: "/runs/:runId/summary",
  summary: "Count the outcomes of a run over time, and by reason",
  description: "All rows are read, so the response for a large run may be some seconds old.",
  params: ofRun,
  answer: runSummary,
});
