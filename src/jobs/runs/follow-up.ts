/**
 * The rows of a run as the rows of a new one: a retry takes the unsuccessful ones again; an undo restores what the
 * others changed, by the operation that undoes it. A SIM is restored only if it still is as the run left it: a later
 * change, by a user or by another run, is kept and reported as skipped.
 */
import type { Rows } from "#contract/route.ts";
import { SimfleetError } from "#core/errors.ts";
import type { Outcome } from "#fleet/run.ts";
import { type InputField, readInput } from "#fleet/sim-operation/input.ts";
import {
  type FieldChange,
  type SimOperation,
  type UndoStep,
  changesOf,
  isRepeatable,
  valuesOf,
} from "#fleet/sim-operation/sim-operation.ts";
import { type ValueOf, fillText, undoPlaceholder } from "#fleet/sim-operation/template.ts";
import { fieldInputOf } from "#jobs/inventory/store/inventory.ts";
import type { KnownSim } from "#jobs/inventory/records/sim-record.ts";
import type { Ledger } from "./ledger/ledger.ts";
import { type StoredRow, operationOf } from "./ledger/packing.ts";
import { type RunRecord, assertNotTaken } from "./ledger/run-record.ts";
import { changedSince, listed, withCosts } from "./plan/classify.ts";
import type { DraftDeps, DraftSource } from "./plan/draft.ts";
import { inBatches } from "./plan/row-source.ts";
import { type RowResult, rowResults } from "./results/results.ts";
import { reasonMatcher } from "./results/run-summary.ts";
import { assertEnded } from "./results/sent-rows.ts";

/** Outcomes that are retried by default. A rejected row is not among them: it would be rejected again. */
const retriedByDefault: readonly Outcome[] = ["failed", "cancelled"];
/** Who names a reason has done something about it. */
const retriedByReason: readonly Outcome[] = [...retriedByDefault, "rejected"];

/** Selection of rows to retry: all that are unsuccessful, unless it names some. */
export type RetriedRows = Omit<Extract<Rows["from"], { readonly retryOf: string }>, "retryOf">;

/**
 * The rows of a retry.
 * @param newRunId the id of the retry, if it was fixed in advance
 * @throws SimfleetError RUN_STATE_CONFLICT if the run has not ended; its rows throw if none has such an outcome, or
 *   another run has taken rows whose calls are unsafe to repeat
 */
export function retrySource(
  run: RunRecord,
  { ledger, inventory }: Pick<DraftDeps, "ledger" | "inventory">,
  which: RetriedRows & { readonly newRunId?: string | undefined },
): DraftSource {
  assertEnded(run, "retried");
  const { lines, reason, newRunId, outcomes = reason === undefined ? retriedByDefault : retriedByReason } = which;
  const isSafe = isRepeatable(run.operations);
  if ((lines ?? reason) !== undefined && !isSafe) {
    const message = `The calls of run ${run.runId} are unsafe to repeat, so its rows are retried all at once: leave out the lines and the reason`;
    throw new SimfleetError("RUN_STATE_CONFLICT", message);
  }
  const places = lines === undefined ? undefined : new Set(lines);
  const matches = reason === undefined ? undefined : reasonMatcher(reason);
  const isWanted = (result: RowResult): boolean =>
    outcomes.includes(result.outcome) && places?.has(result.row.line) !== false && matches?.(result.reason) !== false;
  const found = new Set<Outcome>();
  const weights = new Map<number, number>();
  const rows = inBatches(wantedRows(run, ledger, isWanted, { found, weights }));
  return {
    operations: run.operations,
    header: run.header,
    origin: { where: `rows of run ${run.runId} that are ${outcomes.join(" or ")}` },
    sha256: () => run.sha256,
    isSealed: true,
    rows: withCosts(rows, { operations: run.operations, profile: run.profile, inventory }),
    late: { weightOf: (index) => weights.get(index) ?? 1 },
    takes: ({ calls }) => {
      if (calls === 0) {
        throw new SimfleetError(
          "RUN_STATE_CONFLICT",
          `Run ${run.runId} has no row that is ${outcomes.join(" or ")}${reason === undefined ? "" : " for this reason"}: nothing to retry${otherOutcomes(run, outcomes)}`,
        );
      }
      const takes = isSafe ? [] : [...found];
      assertNotTaken(run, takes, newRunId);
      return takes;
    },
  };
}

/** The outcomes that were not asked for and that some rows have: `; 15 rejected are retried only …` */
function otherOutcomes({ tally }: RunRecord, asked: readonly Outcome[]): string {
  const others = (["rejected", "failed", "unknown", "cancelled"] as const).filter(
    (outcome) => !asked.includes(outcome) && tally[outcome] > 0,
  );
  if (others.length === 0) return "";
  const counts = others.map((outcome) => `${tally[outcome]} ${outcome}`).join(", ");
  return `. Other rows (${counts}) are retried only if the request names their outcome, as --outcome ${others[0]}`;
}

/** The wanted rows, numbered from 0. @param of takes their outcomes, and how many rows share the call of one */
async function* wantedRows(
  run: RunRecord,
  ledger: Ledger,
  isWanted: (result: RowResult) => boolean,
  { found, weights }: { readonly found: Set<Outcome>; readonly weights: Map<number, number> },
): AsyncGenerator<StoredRow> {
  const newIndexes = new Map<number, number>();
  for await (const result of rowResults(run, ledger)) {
    const { duplicateOf, planned: _, ...row } = result.row;
    if (row.problem !== undefined || !isWanted(result)) continue;
    const index = newIndexes.size;
    newIndexes.set(row.index, index);
    found.add(result.outcome);
    const first = duplicateOf === undefined || row.skipped !== undefined ? undefined : newIndexes.get(duplicateOf);
    if (first !== undefined) weights.set(first, (weights.get(first) ?? 1) + 1);
    yield { ...row, index, weight: 1, ...(first === undefined ? {} : { duplicateOf: first }) };
  }
}

// Undo.

interface UndoDeps extends Pick<DraftDeps, "ledger" | "inventory"> {
  /** An operation of the definition, as the run's profile uses it. @throws SimfleetError OPERATION_NOT_FOUND */
  readonly operationNamed: (name: string) => SimOperation;
}

/** An undo of a run: the operation of `set`, and that of `otherwise`, if there is one. */
interface Undo {
  readonly run: RunRecord;
  readonly operations: readonly [SimOperation, ...SimOperation[]];
  readonly steps: readonly UndoStep[];
}

/**
 * The rows of an undo.
 * @param newRunId the id of the undo, if it was fixed in advance
 * @throws SimfleetError RUN_STATE_CONFLICT if the run neither has ended nor is paused, or cannot be undone; its rows
 *   throw if it has changed nothing, or was undone by calls that are unsafe to repeat
 */
export function undoSource(run: RunRecord, deps: UndoDeps, newRunId: string | undefined): DraftSource {
  assertEnded(run, "undone");
  const { runId, profile } = run;
  const [{ name, undo }, ...others] = run.operations;
  if (undo === undefined || others.length > 0) {
    const what = run.undoOf === undefined ? `${name} has no undo` : "it is an undo itself";
    throw new SimfleetError("RUN_STATE_CONFLICT", `Run ${runId} cannot be undone: ${what}`);
  }
  const otherwise = undo.otherwise === undefined ? [] : [undo.otherwise];
  const first = deps.operationNamed(undo.operation);
  const operations = [first, ...otherwise.map(({ operation }) => deps.operationNamed(operation))] as const;
  const rows = undoRows({ run, operations, steps: [undo, ...otherwise] }, deps);
  return {
    operations,
    header: [first.keyColumn, ...first.inputs.map((input) => input.name)],
    origin: { where: `SIMs that run ${runId} changed` },
    sha256: () => run.sha256,
    isSealed: true,
    rows: withCosts(rows, { operations, profile, inventory: deps.inventory }),
    takes: ({ rows: total }) => {
      if (total === 0) {
        throw new SimfleetError("RUN_STATE_CONFLICT", `Run ${runId} changed nothing: there is nothing to undo`);
      }
      const groups = isRepeatable(operations) ? [] : (["undo"] as const);
      assertNotTaken(run, groups, newRunId);
      return groups;
    },
  };
}

async function* undoRows(undo: Undo, { ledger, inventory }: UndoDeps): AsyncGenerator<readonly StoredRow[]> {
  let index = 0;
  for await (const batch of inBatches(changedRows(undo.run, ledger))) {
    const keys = batch.map(({ row }) => row.key);
    const known = await inventory.lookUp(undo.run.profile, keys);
    yield batch.map((result, i) => undoRow(undo, result, known[i], index++));
  }
}

/** The rows with which the run changed a SIM. */
async function* changedRows(run: RunRecord, ledger: Ledger): AsyncGenerator<RowResult> {
  for await (const result of rowResults(run, ledger)) {
    if (result.outcome === "done" && result.row.duplicateOf === undefined) yield result;
  }
}

function undoRow(undo: Undo, { row, previous }: RowResult, sim: KnownSim | undefined, index: number): StoredRow {
  const { key, inputs } = row;
  const operation = operationOf(undo.run, row);
  const given = changesOf(operation, key, inputs);
  const before = new Map(given.map(([field], i) => [field, previous?.[i] ?? null] as const));
  const valueOf = valuesOf(operation, key, inputs);
  const step = previous && stepFor(undo, key, before, (template) => fillUndo(template, { valueOf, before }));
  const present = given.map(([field]) => fieldInputOf(sim, field) ?? null);
  const restored = {
    index,
    line: index + 2,
    key,
    weight: 1,
    inputs: step?.inputs ?? [],
    cells: [key, ...(step?.at === 0 ? step.inputs : undo.operations[0].inputs.map(() => ""))],
    ...(step === undefined || step.at === 0 ? {} : { operation: step.at }),
  };
  const reason = reasonToLeave({ given, previous, hasStep: step !== undefined, present }, sim);
  return reason === undefined
    ? { ...restored, before: step?.fields.map((field) => new Map(given).get(field) ?? null), onlyIf: given }
    : { ...restored, before: present, skipped: reason };
}

/** The first step that restores the previous values. */
function stepFor(
  { operations, steps }: Undo,
  key: string,
  before: ReadonlyMap<string, string | null>,
  fill: (template: string) => string | undefined,
): { at: number; inputs: readonly string[]; fields: readonly string[] } | undefined {
  for (const [at, { set }] of steps.entries()) {
    const undo = operations[at];
    const inputs = undo?.inputs.map((field) => readInput(field, fill(chooseTemplate(field, set)) ?? ""));
    if (undo === undefined || !inputs?.every((value) => value !== undefined)) continue;
    const after = new Map(changesOf(undo, key, inputs));
    const restores = after.size === before.size && [...before].every(([field, value]) => after.get(field) === value);
    if (restores) return { at, inputs, fields: [...after.keys()] };
  }
  return undefined;
}

/** The other id of the SIM, which the row has already, needs no template. */
function chooseTemplate({ name, inventoryField }: InputField, set: UndoStep["set"]): string {
  return set[name] ?? (inventoryField === undefined ? "" : `{${name}}`);
}

/** Fills the template of an undo with previous values and inputs of the row. */
function fillUndo(
  template: string,
  { valueOf, before }: { valueOf: ValueOf; before: ReadonlyMap<string, string | null> },
): string | undefined {
  let isMissing = false;
  const text = template.replace(undoPlaceholder, (_, field: string | undefined, name: string | undefined) => {
    const value = field === undefined ? valueOf(name ?? "") : before.get(fillText(field, valueOf) ?? "");
    isMissing ||= value === undefined || value === null;
    return value ?? "";
  });
  return isMissing ? undefined : text;
}

/** Why a SIM is left unchanged; undefined if it is to be restored. */
function reasonToLeave(
  change: {
    given: readonly FieldChange[];
    previous: StoredRow["before"];
    hasStep: boolean;
    present: readonly (string | null)[];
  },
  sim: KnownSim | undefined,
): string | undefined {
  const { given, previous, hasStep, present } = change;
  if (previous === undefined) return "left unchanged: its previous state is unknown, because no sync had read it";
  if (given.every(([, value], i) => value === (previous[i] ?? null))) {
    return `left unchanged: it had ${listed(given)} before the run, too`;
  }
  if (sim?.goneAtMs !== undefined) return "left unchanged: the platform no longer lists it";
  const now = given.map(([field], i): FieldChange => [field, present[i] ?? null]);
  if (given.some(([, value], i) => value !== present[i])) return changedSince(given, now);
  return hasStep ? undefined : "left unchanged: the operation cannot restore its previous state";
}
