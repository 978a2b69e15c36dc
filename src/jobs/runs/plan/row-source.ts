/**
 * The source of a plan's rows: a surveyed file, or the SIMs that a filter selects from the inventory, all with the same
 * values. Rows can be read repeatedly and are never kept in memory as a whole.
 */
import { createHash } from "node:crypto";
import { SimfleetError } from "#core/errors.ts";
import { type Filter, hintForNoMatch } from "#fleet/filter.ts";
import type { SimOperation } from "#fleet/sim-operation/sim-operation.ts";
import { type RowRequest, readSet } from "#intake/columns.ts";
import { type FileSurvey, type ResolvedRow, type RowFault, readRows } from "#intake/read-rows.ts";
import type { Inventory } from "#jobs/inventory/store/inventory.ts";
import { assertFieldsKnown } from "#jobs/inventory/filter-fields.ts";

export interface RowSource {
  readonly request: RowRequest;
  readonly origin: { readonly file: string } | { readonly where: string };
  readonly header: readonly string[];
  readonly counts: FileSurvey["counts"];
  /** The first problems, in row order. */
  readonly problems: readonly RowFault[];
  /** SHA-256 of the rows when they were first read, hex. */
  readonly sha256: string;
  /** @throws IntakeError if the content has changed since the survey */
  read(): AsyncGenerator<readonly ResolvedRow[]>;
  /** Number of rows that share this row's outcome, itself included. */
  weightOf(index: number): number;
  lineOf(index: number): number;
}

export function fileSource(survey: FileSurvey): RowSource {
  const { file, request, header, counts, problems, fingerprint, duplicates } = survey;
  return {
    request,
    origin: { file: file.path },
    header,
    counts,
    problems,
    sha256: fingerprint.sha256,
    read: () => readRows(survey),
    weightOf: (index) => duplicates.linesOf(index, Number.POSITIVE_INFINITY).length,
    lineOf: (index) => duplicates.lineOf(index),
  };
}

/** How SIMs that are not listed in a file become rows. */
interface SelectedRows {
  readonly header: readonly string[];
  readonly rowOf: (key: string, index: number) => ResolvedRow;
}

/**
 * Rows are numbered as in a file with a header.
 * @throws IntakeError for an invalid value; SimfleetError USAGE if a required one is missing
 */
function selectedRows({ operation, set }: RowRequest): SelectedRows {
  const given = readSet({ operation, set });
  const missing = operation.inputs.find(
    ({ name, isRequired, inventoryField }) => isRequired && inventoryField === undefined && !given.has(name),
  );
  if (missing !== undefined) throw withoutInput(operation, missing.name);
  const inputs = operation.inputs.map(({ name }) => given.get(name) ?? "");
  const columns = operation.inputs.filter(({ name }) => set[name] !== undefined);
  const cells = columns.map(({ name, isSecret }) => (isSecret === true ? "" : (set[name] ?? "")));
  return {
    header: [operation.keyColumn, ...columns.map(({ name }) => name)],
    rowOf: (key, index) => ({ row: { index, line: index + 2, cells: [key, ...cells], key, inputs } }),
  };
}

function withoutInput({ name: operation }: SimOperation, name: string): SimfleetError {
  const option = name === "speedClass" ? "--speed-class" : `--set ${name}=VALUE`;
  return new SimfleetError("USAGE", `${operation} of SIMs that are selected by a filter needs ${name}: add ${option}`);
}

/**
 * The SIMs that a filter selects from the inventory, as rows.
 * @throws SimfleetError USAGE if there is no inventory, no such SIM or field in it, or a value is missing or invalid
 */
export async function filterSource(
  inventory: Inventory,
  options: { profile: string; filter: Filter; request: RowRequest },
): Promise<RowSource> {
  const { filter, profile, request } = options;
  const { keyColumn } = request.operation;
  const { header, rowOf } = selectedRows(request);
  await assertFieldsKnown(inventory, { profile, filter, keyColumn });
  async function* read(): AsyncGenerator<readonly ResolvedRow[]> {
    let index = 0;
    for await (const found of inventory.scan(profile, filter, { keyColumn })) {
      yield found.map(({ key }) => rowOf(key, index++));
    }
  }
  const sha256 = createHash("sha256");
  let rows = 0;
  for await (const batch of read()) {
    rows += batch.length;
    for (const { row } of batch) sha256.update(`${row.cells.join(",")}\n`);
  }
  if (rows === 0) await failForNoSim(inventory, options);
  return {
    request,
    header,
    read,
    weightOf,
    lineOf,
    origin: { where: filter.text },
    counts: countsOf(rows),
    problems: [],
    sha256: sha256.digest("hex"),
  };
}

/**
 * The SIMs with the given keys, as rows.
 * @throws as `filterSource` for the values
 */
export function simsSource(sims: readonly string[], request: RowRequest): RowSource {
  const { header, rowOf } = selectedRows(request);
  const rows = sims.map(rowOf);
  const sha256 = createHash("sha256").update(rows.map(({ row }) => `${row.cells.join(",")}\n`).join(""));
  return {
    request,
    header,
    weightOf,
    lineOf,
    origin: { where: `${sims.length} SIMs` },
    counts: countsOf(rows.length),
    problems: [],
    sha256: sha256.digest("hex"),
    read: () => inBatches(rows),
  };
}

function countsOf(rows: number): RowSource["counts"] {
  return { rows, valid: rows, invalid: 0, duplicates: 0, calls: rows, byProblem: {} };
}

function weightOf(): number {
  return 1;
}

function lineOf(index: number): number {
  return index + 2;
}

async function failForNoSim(
  inventory: Inventory,
  { profile, filter }: { profile: string; filter: Filter },
): Promise<never> {
  const { known, isComplete } = await inventory.facts(profile);
  if (!isComplete) {
    throw new SimfleetError("USAGE", "The inventory has not been synced yet; run: simfleet sims sync");
  }
  const indexed = await inventory.indexedFields(profile);
  const valuesOf = (name: string) => indexed.find(({ field }) => field === name)?.values.keys() ?? [];
  const hint = hintForNoMatch(filter, valuesOf) ?? "simfleet sims list --where … shows what a filter selects";
  throw new SimfleetError(
    "NO_SIM_MATCHES",
    `None of the ${known} SIMs in the inventory matches ${filter.text}: ${hint}`,
  );
}

const batchLength = 500;

/** Groups items into batches; no batch is empty. */
export async function* inBatches<T>(items: AsyncIterable<T> | Iterable<T>): AsyncGenerator<readonly T[]> {
  let batch: T[] = [];
  for await (const item of items) {
    batch.push(item);
    if (batch.length < batchLength) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
