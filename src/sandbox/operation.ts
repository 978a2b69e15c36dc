/** An operation of the platform: its path, its quota, and its handler. */
import type { Accounts, Holder } from "./account/accounts.ts";
import type { HeaderNames, Received } from "./request.ts";
import type { ApiGroup, SandboxOptions } from "./options.ts";
import { Refusal, type RefusalName } from "./refusals.ts";
import type { SandboxState } from "./state.ts";

/** One call of an operation. */
export interface Call extends Received {
  readonly options: SandboxOptions;
  readonly accounts: Accounts;
  readonly state: SandboxState;
  /** The holder of the pair; undefined if the operation needs none. */
  readonly holder: Holder | undefined;
  /** The variable parts of the path in order, percent-decoded. */
  readonly ids: readonly string[];
  readonly names: HeaderNames;
}

export interface Result {
  readonly status: number;
  /** The body as JSON; empty if the status has none. */
  readonly text: string;
  /** A long file of CSV instead, computed while it is sent. */
  readonly pieces?: Iterable<string>;
  /** Raw header list: name, value, name, value. */
  readonly headers?: readonly string[];
}

export interface Operation {
  readonly name: string;
  readonly method: string;
  /** `v1/sims/*`: no leading slash, `*` for a variable part. */
  readonly path: string;
  /** API group. Absent: not subject to a quota. All operations of a path belong to one group. */
  readonly group: ApiGroup | undefined;
  readonly needsPair: boolean;
  /** How to reject the call if the pair has expired. Default pairExpired. */
  readonly whenExpired?: RefusalName;
  readonly handle: Handler;
}

/** @returns the response; default: status 204 */
type Handler = (call: Call) => Result | Promise<Result> | void;

/** Operations of one API group, by name: method and path (`GET v1/sims/*`), and the handler. */
export type OperationTable = Readonly<Record<string, readonly [call: string, handle: Handler]>>;

export function operationsOf(group: ApiGroup | undefined, table: OperationTable): Operation[] {
  const needsPair = group !== undefined && group !== "Auth";
  return Object.entries(table).map(([name, [call, handle]]) => {
    const [method = "", path = ""] = call.split(" ");
    return { name, method, path, group, needsPair, handle };
  });
}

export function answer(status: number, value: unknown): Result {
  return { status, text: JSON.stringify(value) };
}

/** The holder of the pair of a call, for operations that need one. */
export function holderOf({ holder }: Call): Holder {
  if (holder === undefined) throw new Refusal("pairMissing");
  return holder;
}
