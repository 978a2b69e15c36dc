/**
 * The source of a plan's rows: a surveyed file, or the SIMs that a filter selects from the inventory, all with one speed
 * class. Rows can be read repeatedly and are never kept in memory as a whole.
 */
import { createHash } from "node:crypto";
import { SimfleetError } from "#core/errors.ts";
import type { Filter } from "#fleet/filter.ts";
import { type KeyColumn, type Wording, keyColumnOf } from "#fleet/sim/sim.ts";
import { isSpeedClass } from "#fleet/sim/speed-class.ts";
import { type FileSurvey, type ResolvedRow, type RowFault, readRows } from "#intake/read-rows.ts";
import type { Inventory } from "#jobs/inventory/store/inventory.ts";
import { assertFieldsKnown } from "#jobs/inventory/filter-fields.ts";

export interface RowSource {
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
  const { path, header, counts, problems, fingerprint, duplicates } = survey;
  return {
    origin: { file: path },
    header,
    counts,
    problems,
    sha256: fingerprint.sha256,
    read: () => readRows(survey),
    weightOf: (index) => duplicates.linesOf(index, Number.POSITIVE_INFINITY).length,
    lineOf: (index) => duplicates.lineOf(index),
  };
}

/**
 * The SIMs that a filter selects from the inventory, as rows.
 * @throws SimfleetError USAGE if there is no inventory, no such SIM or field in it, or the class is invalid
 */
export async function filterSource(
  inventory: Inventory,
  options: { profile: string; filter: Filter; speedClass: string; wording: Wording },
): Promise<RowSource> {
  const { filter, speedClass, wording } = options;
  if (!isSpeedClass(speedClass)) throw new SimfleetError("USAGE", `${speedClass} cannot be a speed class`);
  const keyColumn = keyColumnOf(wording);
  await assertFieldsKnown(inventory, { profile: options.profile, filter, keyColumn });
  const read = () => filterRows(inventory, { ...options, keyColumn });
  const sha256 = createHash("sha256");
  let rows = 0;
  for await (const batch of read()) {
    rows += batch.length;
    for (const { row } of batch) sha256.update(`${row.cells.join(",")}\n`);
  }
  if (rows === 0) await failForNoSim(inventory, options);
  return {
    origin: { where: filter.text },
    header: [keyColumn, "speedClass"],
    counts: { rows, valid: rows, invalid: 0, duplicates: 0, calls: rows, byProblem: {} },
    problems: [],
    sha256: sha256.digest("hex"),
    read,
    weightOf: () => 1,
    lineOf: (index) => index + 2,
  };
}

/**
 * The SIMs with the given keys, as rows.
 * @throws SimfleetError USAGE if the class is invalid
 */
export function simsSource(
  sims: readonly string[],
  { speedClass, wording }: { speedClass: string; wording: Wording },
): RowSource {
  if (!isSpeedClass(speedClass)) throw new SimfleetError("USAGE", `${speedClass} cannot be a speed class`);
  const rows = sims.map((key, index): ResolvedRow => {
    return { row: { index, line: index + 2, cells: [key, speedClass], key, speedClass } };
  });
  const sha256 = createHash("sha256").update(sims.map((key) => `${key},${speedClass}\n`).join(""));
  return {
    origin: { where: `${sims.length} SIMs` },
    header: [keyColumnOf(wording), "speedClass"],
    counts: { rows: rows.length, valid: rows.length, invalid: 0, duplicates: 0, calls: rows.length, byProblem: {} },
    problems: [],
    sha256: sha256.digest("hex"),
    read: () => inBatches(rows),
    weightOf: () => 1,
    lineOf: (index) => index + 2,
  };
}

/** Rows are numbered as in a file with a header. */
async function* filterRows(
  inventory: Inventory,
  options: { profile: string; filter: Filter; speedClass: string; keyColumn: KeyColumn },
): AsyncGenerator<readonly ResolvedRow[]> {
  const { profile, filter, speedClass, keyColumn } = options;
  let index = 0;
  for await (const found of inventory.scan(profile, filter, { keyColumn })) {
    yield found.map(({ key }) => {
      index += 1;
      return { row: { index: index - 1, line: index + 1, cells: [key, speedClass], key, speedClass } };
    });
  }
}

async function failForNoSim(
  inventory: Inventory,
  { profile, filter }: { profile: string; filter: Filter },
): Promise<never> {
  const { known, isComplete } = await inventory.facts(profile);
  if (!isComplete) {
    throw new SimfleetError("USAGE", "The inventory has not been read yet: simfleet sims sync reads the fleet");
  }
  throw new SimfleetError(
    "NO_SIM_MATCHES",
    `None of the ${known} SIMs in the inventory matches ${filter.text}: simfleet sims list --where … shows what a filter means`,
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
