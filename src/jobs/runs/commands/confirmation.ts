/** One rule for all commands that start a run: a question on a terminal, or the number of calls that cannot be undone. */
import { SimfleetError } from "#core/errors.ts";
import { type ProcessIo, ask, confirm, isTerminal } from "#cli/context.ts";
import { grouped } from "#cli/format.ts";

/** Run that a question is about. */
export interface Confirming {
  readonly operation: string;
  /** Calls that cannot be undone. */
  readonly irreversible: number;
  /** Asked if there is none. */
  readonly question: string;
}

/** The options `--yes` and `--confirm`. */
export interface ConfirmOptions {
  readonly yes?: true | undefined;
  readonly confirm?: number | undefined;
}

/**
 * Asks before a run starts. Calls that cannot be undone need their number, typed or given.
 * @returns what the run is started with; undefined: it must not be started
 * @throws SimfleetError USAGE, NOT_CONFIRMED without a terminal and the option
 */
export async function confirmation(
  { operation, irreversible, question }: Confirming,
  { yes, confirm: given }: ConfirmOptions,
  io: ProcessIo,
): Promise<{ confirm?: number } | undefined> {
  if (irreversible === 0) return yes === true || (await confirm(io, question)) ? {} : undefined;
  if (given !== undefined) return { confirm: given };
  if (yes === true || !isTerminal(io)) {
    throw new SimfleetError(
      "NOT_CONFIRMED",
      `${operation} is irreversible: confirm the number of SIMs with --confirm ${irreversible}. Nothing was started`,
    );
  }
  const answer = await ask(io, `${operation} is irreversible. Type the number of SIMs (${grouped(irreversible)}): `);
  const typed = answer?.replaceAll(/[,.'\s]/g, "") ?? "";
  return /^\d{1,9}$/.test(typed) ? { confirm: Number(typed) } : undefined;
}

/** A line about calls that cost money; empty if there are none. */
export function costText({ costly }: { readonly costly: number }): string {
  return costly === 0 ? "" : `${grouped(costly)} of the calls cost money, according to the inventory`;
}
