/**
 * The sources of a run's rows: a file, the SIMs that a filter selects from the inventory, or a list of SIMs. The rows
 * of a run to be retried or undone are sources too (follow-up.ts). Rows are read once and never kept in memory as a
 * whole.
 */
import { createHash } from "node:crypto";
import { SimfleetError } from "#core/errors.ts";
import type { InputFile } from "#core/files/open-file.ts";
import { type Filter, hintForNoMatch } from "#fleet/filter.ts";
import { type RowRequest, readSet } from "#intake/columns.ts";
import type { Row } from "#fleet/run.ts";
import { openRows } from "#intake/read-rows.ts";
import type { Inventory } from "#jobs/inventory/store/inventory.ts";
import { assertFieldsKnown } from "#jobs/inventory/sims.ts";
import type { DraftSource } from "./draft.ts";

/** Where rows come from: a file, a filter on the inventory, or SIMs by their keys. */
export type RowOrigin = InputFile | { readonly filter: Filter } | { readonly sims: readonly string[] };

/** Rows of one operation, as they come from the source. */
export interface RowSource extends Pick<DraftSource, "origin" | "header" | "late" | "sha256"> {
  /** Readable once. @throws IntakeError for a file that cannot be read as input */
  readonly batches: AsyncIterable<readonly Row[]>;
  /** Closes a file, read or not. May be repeated. */
  close?(): void;
}

/**
 * @throws IntakeError for a file that cannot be read as input, or an invalid value for all rows
 * @throws SimfleetError USAGE for a filter without a required value, or for a field that no SIM has
 */
export async function openSource(
  from: RowOrigin,
  request: RowRequest,
  fleet: { readonly inventory: Inventory; readonly profile: string; readonly signal?: AbortSignal | undefined },
): Promise<RowSource> {
  const { inventory, profile, signal } = fleet;
  if ("path" in from) return { ...(await openRows(from, { ...request, signal })), origin: { file: from.path } };
  if ("sims" in from) return selectedSource(inBatches(from.sims), `${from.sims.length} SIMs`, request);
  const { filter } = from;
  const selection = { profile, filter, keyColumn: request.operation.keyColumn };
  const source = selectedSource(selectedKeys(inventory, selection), filter.text, request);
  await assertFieldsKnown(inventory, selection);
  return source;
}

/**
 * SIMs that are not listed in a file, as rows. They are numbered as in a file with a header.
 * @throws IntakeError for an invalid value; SimfleetError USAGE if a required one is missing
 */
function selectedSource(keys: AsyncIterable<readonly string[]>, where: string, { operation, set }: RowRequest) {
  const given = readSet({ operation, set });
  const missing = operation.inputs.find(
    ({ name, isRequired, inventoryField }) => isRequired && inventoryField === undefined && !given.has(name),
  );
  if (missing !== undefined) {
    const { name } = missing;
    const option = name === "speedClass" ? "--speed-class" : `--set ${name}=VALUE`;
    const message = `${operation.name} of SIMs that are selected by a filter needs ${name}: add ${option}`;
    throw new SimfleetError("USAGE", message);
  }
  const inputs = operation.inputs.map(({ name }) => given.get(name) ?? "");
  const columns = operation.inputs.filter(({ name }) => set[name] !== undefined);
  const values = columns.map(({ name, isSecret }) => (isSecret === true ? "" : (set[name] ?? "")));
  const digest = createHash("sha256");
  async function* batches(): AsyncGenerator<readonly Row[]> {
    let rows = 0;
    for await (const batch of keys) {
      yield batch.map((key) => {
        const index = rows++;
        const cells = [key, ...values];
        digest.update(`${cells.join(",")}\n`);
        return { index, line: index + 2, cells, key, inputs };
      });
    }
  }
  return {
    header: [operation.keyColumn, ...columns.map(({ name }) => name)],
    batches: batches(),
    origin: { where },
    sha256: () => digest.digest("hex"),
  };
}

/** SIMs that a filter selects from the inventory of a profile. */
type Selection = Parameters<typeof assertFieldsKnown>[1];

/** Yields the keys of these SIMs. @throws SimfleetError USAGE without an inventory, NO_SIM_MATCHES */
async function* selectedKeys(inventory: Inventory, selection: Selection): AsyncGenerator<readonly string[]> {
  const { profile, filter, keyColumn } = selection;
  let isEmpty = true;
  for await (const found of inventory.scan(profile, filter, { keyColumn })) {
    isEmpty &&= found.length === 0;
    yield found.map(({ key }) => key);
  }
  if (isEmpty) await failForNoSim(inventory, selection);
}

async function failForNoSim(inventory: Inventory, { profile, filter }: Selection): Promise<void> {
  const { known, isComplete } = await inventory.facts(profile);
  if (!isComplete) {
    throw new SimfleetError("USAGE", "The inventory has not been synced yet; run: simfleet sims sync");
  }
  const indexed = await inventory.indexedFields(profile);
  const listValues = (name: string) => indexed.find(({ field }) => field === name)?.values.keys() ?? [];
  const hint = hintForNoMatch(filter, listValues) ?? "simfleet sims list --where … shows what a filter selects";
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
