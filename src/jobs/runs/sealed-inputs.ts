/**
 * Seals the secret inputs of rows before they are stored, and opens them for the call. Their cells are never stored.
 */
import { SimfleetError } from "#core/errors.ts";
import { Secret } from "#core/secrets/secret.ts";
import type { Seal } from "#engine/seal.ts";
import type { SimOperation } from "#fleet/sim-operation/sim-operation.ts";
import { secretColumns } from "#intake/columns.ts";
import type { StoredRow } from "./ledger/packing.ts";

const purpose = "inputs of a run";

export type SealInputs = Omit<ReturnType<typeof inputSeal>, "open">;
export type OpenInputs = ReturnType<typeof inputSeal>["open"];

export function hasSecrets({ inputs }: SimOperation): boolean {
  return inputs.some(({ isSecret }) => isSecret);
}

/** @param seal undefined if no key is configured, or its file cannot be read */
export function inputSeal(seal: Seal | undefined) {
  const keyed = ({ name }: SimOperation): Seal => {
    if (seal !== undefined) return seal;
    throw new SimfleetError(
      "USAGE",
      `${name} has secret inputs, which are stored encrypted: configure seal.keyFile, a file that this user can read`,
    );
  };
  /** The inputs, with another text for each secret one. */
  const withSecrets = (
    operation: SimOperation,
    inputs: readonly string[],
    change: (key: Seal, value: string) => Promise<string>,
  ): Promise<readonly string[]> => {
    const key = keyed(operation);
    const changed = inputs.map(async (value, i) =>
      operation.inputs[i]?.isSecret === true && value !== "" ? change(key, value) : value,
    );
    return Promise.all(changed);
  };
  return {
    /** @throws SimfleetError USAGE if the operation has secret inputs and no seal key is configured */
    assertKey: (operation: SimOperation): void => void (hasSecrets(operation) && keyed(operation)),
    /** @throws as `assertKey` */
    seal: async (
      rows: readonly StoredRow[],
      { operation, header }: { readonly operation: SimOperation; readonly header: readonly string[] },
    ): Promise<readonly StoredRow[]> => {
      if (!hasSecrets(operation)) return rows;
      const columns = secretColumns(header, operation);
      const sealing = rows.map(async (row) => ({
        ...row,
        cells: row.cells.map((cell, at) => (columns.has(at) ? "" : cell)),
        inputs: await withSecrets(operation, row.inputs, sealed),
      }));
      return Promise.all(sealing);
    },
    /** Opens the secret ones among the inputs of an operation that has some. @throws as `assertKey` */
    open: (operation: SimOperation, inputs: readonly string[]) => withSecrets(operation, inputs, opened),
  };
}

/**
 * The value is known as a secret only while it is sealed: a short one, such as a PIN, would otherwise be cut out of
 * every text that contains it by chance.
 */
async function sealed(key: Seal, value: string): Promise<string> {
  const secret = new Secret(value);
  try {
    return await key.seal(purpose, { value: secret });
  } finally {
    secret.forget();
  }
}

async function opened(key: Seal, text: string): Promise<string> {
  const { value } = await key.open(purpose, text);
  const clear = value?.reveal() ?? "";
  value?.forget();
  return clear;
}

/** The secret values of a row, which the platform may echo. */
export function secretsOf(operation: SimOperation, inputs: readonly string[]): readonly string[] {
  return inputs.filter((value, i) => operation.inputs[i]?.isSecret === true && value !== "");
}
