/**
 * Seals the secret inputs of rows before they are stored, and opens them for the call. Their cells are not stored at all.
 */
import { SimfleetError } from "#core/errors.ts";
import { Secret } from "#core/secret.ts";
import type { Seal } from "#engine/seal.ts";
import type { SimOperation } from "#fleet/sim-operation/sim-operation.ts";
import { secretColumns } from "#intake/columns.ts";
import type { StoredRow } from "./ledger/packing.ts";

const purpose = "inputs of a run";

/** @throws SimfleetError USAGE if the operation has secret inputs and no seal key is configured */
export type SealInputs = (
  rows: readonly StoredRow[],
  run: { readonly operation: SimOperation; readonly header: readonly string[] },
) => Promise<readonly StoredRow[]>;

export type OpenInputs = (operation: SimOperation, inputs: readonly string[]) => Promise<readonly string[]>;

export function hasSecrets({ inputs }: SimOperation): boolean {
  return inputs.some(({ isSecret }) => isSecret);
}

/** @param seal undefined if no key is configured */
export function inputSeal(seal: Seal | undefined): { readonly seal: SealInputs; readonly open: OpenInputs } {
  const keyed = ({ name }: SimOperation): Seal => {
    if (seal !== undefined) return seal;
    throw new SimfleetError("USAGE", `${name} has secret inputs, which are stored sealed: configure seal.keyFile`);
  };
  return {
    seal: async (rows, { operation, header }) => {
      if (!hasSecrets(operation)) return rows;
      const key = keyed(operation);
      const columns = secretColumns(header, operation);
      return Promise.all(
        rows.map(async (row) => ({
          ...row,
          cells: row.cells.map((cell, at) => (columns.has(at) ? "" : cell)),
          inputs: await Promise.all(
            row.inputs.map(async (value, i) =>
              operation.inputs[i]?.isSecret && value !== "" ? key.seal(purpose, { value: new Secret(value) }) : value,
            ),
          ),
        })),
      );
    },
    open: async (operation, inputs) => {
      if (!hasSecrets(operation)) return inputs;
      const key = keyed(operation);
      return Promise.all(
        inputs.map(async (value, i) => {
          if (!operation.inputs[i]?.isSecret || value === "") return value;
          return (await key.open(purpose, value)).value?.reveal() ?? "";
        }),
      );
    },
  };
}
