/** Compares the rows of a plan with the inventory: what each row would do, and what its SIM is like now. */
import { type Expression, type Filter, conditionsIn, conjunctsOf, matches, parseFilter } from "#fleet/filter.ts";
import { parseGate } from "#fleet/waves.ts";
import { minuteMs, systemClock } from "#core/time.ts";
import type { Row, RowProblem } from "#fleet/run.ts";
import {
  type FieldChange,
  type SimOperation,
  type SimOperations,
  changesOf,
  setSpeedClassName,
} from "#fleet/sim-operation/sim-operation.ts";
import { suggestion } from "#core/suggest.ts";
import { type Inventory, type InventoryFacts, fieldInputOf, fieldTextOf } from "#jobs/inventory/store/inventory.ts";
import type { KnownSim } from "#jobs/inventory/records/sim-record.ts";
import type { RowVerdict } from "../contract.ts";
import { type StoredRow, operationOf } from "../ledger/packing.ts";
import type { RunHead } from "../ledger/run-record.ts";

/** A nightly sync keeps all records fresh. */
const freshMs = 25 * 60 * minuteMs;

/** The inventory of one profile, as far as classification needs it. */
export interface KnownFleet {
  readonly inventory: Inventory;
  readonly profile: string;
  /** The operations of the platform definition: a row that is rejected names the one that would help. */
  readonly operations: SimOperations;
  /** The only speed classes that are sent. Empty: any is. */
  readonly speedClasses: readonly string[];
  /** The gate of the run's waves. */
  readonly gate?: string | undefined;
  /** Rows that change nothing and are left out: all, none, or those whose record is younger than a day. */
  readonly skipUnchanged?: boolean | "fresh";
}

export const unchangedReason = "the SIM is already as requested, according to the inventory";

/** Looks up each row once, in the order of the rows. */
export async function* classifyRows(
  batches: AsyncIterable<readonly Row[]>,
  operation: SimOperation,
  fleet: KnownFleet,
): AsyncGenerator<readonly StoredRow[]> {
  const facts = await fleet.inventory.facts(fleet.profile);
  const classify = classifier(operation, facts, fleet);
  for await (const batch of batches) {
    const keys = facts.known + facts.gone === 0 ? [] : batch.map(({ key }) => key);
    const sims = await fleet.inventory.lookUp(fleet.profile, keys);
    yield batch.map((row, i) => classify(row, sims[i]));
  }
}

function classifier(operation: SimOperation, facts: InventoryFacts, fleet: KnownFleet) {
  const { operations, skipUnchanged } = fleet;
  const speedClasses = operation.name === setSpeedClassName ? fleet.speedClasses : [];
  const requires = operation.requires === undefined ? undefined : parseFilter(operation.requires);
  const isCostlyFor = costCheck(operation);
  const nowMs = systemClock.wallMs();
  const freshSinceMs = nowMs - freshMs;
  const gate = fleet.gate === undefined ? undefined : parseGate(fleet.gate);
  const notPlanned: Pick<StoredRow, "planned" | "skipped"> = {};
  const notListed: typeof notPlanned = facts.isComplete ? { planned: "not-in-inventory" } : notPlanned;
  const unchanged = (sim: KnownSim): typeof notPlanned => {
    const isFresh = Math.max(sim.updatedAtMs, facts.listedAtMs ?? 0) >= freshSinceMs;
    const isSkipped = skipUnchanged === "fresh" ? isFresh : skipUnchanged === true;
    return { planned: "unchanged", ...(isSkipped ? { skipped: unchangedReason } : {}) };
  };
  return (row: Row, sim: KnownSim | undefined): StoredRow => {
    const { index, line, cells, key } = row;
    const { inputs, problem: own = unlisted(inputs, speedClasses) } = completed(row, operation, sim);
    const isListed = sim !== undefined && sim.goneAtMs === undefined;
    const changes = own === undefined && isListed ? changesOf(operation, key, inputs) : [];
    const valueOf = (field: string): string | undefined =>
      field === operation.keyColumn ? key : fieldTextOf(sim, field);
    const isRejected = own === undefined && isListed && requires !== undefined && !matches(requires, valueOf, nowMs);
    const problem = isRejected ? rejection(requires, { valueOf, nowMs, operations }) : own;
    const before = isListed ? beforeOf(changes, sim, facts) : undefined;
    const duplicateOf = problem === undefined ? row.duplicateOf : undefined;
    const hasOwnCall = problem === undefined && duplicateOf === undefined;
    const found = isListed ? (isAlready(changes, before) ? unchanged(sim) : notPlanned) : notListed;
    const { planned, skipped } = hasOwnCall ? found : notPlanned;
    const met = gate && isListed && matches(gate.filter, valueOf, nowMs);
    const isCostly = isCostlyFor(key, sim) || undefined;
    // Spreads would double the garbage of the longest loop of a plan.
    return {
      index,
      line,
      key,
      inputs,
      cells,
      weight: 1,
      before,
      problem,
      duplicateOf,
      planned,
      skipped,
      met,
      isCostly,
    };
  };
}

/** The verdict on a row: it says how a run would treat it. */
export function verdictOfRow({ problem, duplicateOf, planned, skipped }: StoredRow): RowVerdict {
  if (problem !== undefined)
    return problem.code === "conflict" || problem.code === "rejected" ? problem.code : "invalid";
  if (duplicateOf !== undefined) return "duplicate";
  return planned ?? (skipped === undefined ? "change" : "unchanged");
}

/** The rows of a retry or an undo, with what their calls cost. */
export async function* withCosts(
  batches: AsyncIterable<readonly StoredRow[]>,
  run: { readonly operations: RunHead["operations"]; readonly profile: string; readonly inventory: Inventory },
): AsyncGenerator<readonly StoredRow[]> {
  const { operations, profile, inventory } = run;
  const costChecks = new Map(operations.map((operation) => [operation, costCheck(operation)]));
  const mayCost = operations.some(({ danger }) => danger === "costly");
  for await (const batch of batches) {
    const sims = await inventory.lookUp(profile, mayCost ? batch.map(({ key }) => key) : []);
    yield batch.map((row, i) => ({
      ...row,
      isCostly: costChecks.get(operationOf(run, row))?.(row.key, sims[i]) || undefined,
    }));
  }
}

/** Supplies values that a row lacks and the inventory has. */
function completed(row: Row, operation: SimOperation, sim: KnownSim | undefined): Row {
  if (row.problem !== undefined || !operation.inputs.some(({ inventoryField }) => inventoryField !== undefined))
    return row;
  let problem: RowProblem | undefined;
  const inputs = operation.inputs.map(({ name, inventoryField }, i) => {
    const value = row.inputs[i] ?? "";
    if (value !== "" || inventoryField === undefined) return value;
    const known = fieldTextOf(sim, inventoryField);
    if (known === undefined) {
      const message = `The ${name} of the SIM is not in the inventory: add a column ${name}, or sync the inventory.`;
      problem ??= { code: "value-missing", column: name, message };
    }
    return known ?? "";
  });
  return problem === undefined ? { ...row, inputs } : { ...row, inputs, problem };
}

/** The platform would reject it. */
function unlisted([speedClass = ""]: readonly string[], known: readonly string[]): RowProblem | undefined {
  if (known.length === 0 || known.includes(speedClass)) return undefined;
  const message = `The platform definition lists no speed class ${speedClass}, so it would be rejected.${suggestion(speedClass, known)} It lists ${known.join(", ")}; --allow-unlisted (allowUnlisted=true in the API) sends it.`;
  return { code: "value-invalid", column: "speedClass", message };
}

function rejection(
  requires: Filter,
  of: { valueOf: (field: string) => string | undefined; nowMs: number; operations: SimOperations },
): RowProblem {
  const { valueOf, nowMs, operations } = of;
  const [failed = requires.expression] = conjunctsOf(requires).filter(
    (expression) => !matches({ expression }, valueOf, nowMs),
  );
  const fields = [...new Set(conditionsIn(failed).map(({ field }) => field))];
  const are = fields.map((field) => {
    const present = valueOf(field);
    return present === undefined ? `no ${field}` : `${field}=${present}`;
  });
  const alternatives = failed.kind === "or" ? failed.parts : [failed];
  const helpful = [...operations.values()].find((one) => alternatives.some((part) => doesSet(one, part)));
  const hint = helpful === undefined ? "" : ` Do ${helpful.name} first.`;
  return {
    code: "rejected",
    column: fields[0] ?? "",
    message: `The SIM has ${are.join(" and ")}; the operation requires ${requires.text}.${hint}`,
  };
}

/** Whether an operation gives every SIM the value that a condition asks for. */
function doesSet({ sets }: SimOperation, one: Expression): boolean {
  return one.kind === "=" && Object.hasOwn(sets, one.field) && String(sets[one.field]) === one.values[0];
}

/** Values of fields as the inventory has them; undefined if it does not keep one of these fields. */
export function beforeOf(
  changes: readonly FieldChange[],
  sim: KnownSim | undefined,
  { fields }: Pick<InventoryFacts, "fields">,
): readonly (string | null)[] | undefined {
  if (sim === undefined) return undefined;
  const values: (string | null)[] = [];
  for (const [field] of changes) {
    const value = fieldInputOf(sim, field);
    const isKept = value !== undefined || fields.some((kept) => field === kept || field.startsWith(`${kept}.`));
    if (!isKept) return undefined;
    values.push(value ?? null);
  }
  return values;
}

export function isAlready(changes: readonly FieldChange[], before: readonly (string | null)[] | undefined): boolean {
  return changes.length > 0 && before !== undefined && changes.every(([, after], i) => after === before[i]);
}

/** Why a row of an undo is left alone whose SIM has changed since the run. */
export function changedSince(given: readonly FieldChange[], now: readonly FieldChange[]): string {
  return `left unchanged: it has ${listed(now)} now, not ${listed(given)} from the run`;
}

/** `s1.fast` for one field with a value, else the fields with their values. */
export function listed(changes: readonly FieldChange[]): string {
  return changes
    .map(([field, value]) => (value === null ? `no ${field}` : changes.length === 1 ? value : `${field}=${value}`))
    .join(", ");
}

// Which calls cost money, as far as the inventory knows.

/** Decides for the SIMs of an operation; a SIM that the inventory does not list may cost money. */
function costCheck({ danger, costlyWhen, keyColumn }: SimOperation) {
  if (danger !== "costly") return () => false;
  if (costlyWhen === undefined) return () => true;
  const filter = parseFilter(costlyWhen);
  const nowMs = systemClock.wallMs();
  return (key: string, sim: KnownSim | undefined) =>
    sim === undefined ||
    sim.goneAtMs !== undefined ||
    matches(filter, (field) => (field === keyColumn ? key : fieldTextOf(sim, field)), nowMs);
}
