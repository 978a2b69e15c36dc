/** An operation of the platform: its path, its quota, and its handler. */
import type { Accounts } from "./accounts/accounts.ts";
import type { Holder } from "./accounts/pairs.ts";
import { Refusal, type RefusalName } from "./refusals.ts";
import type { ApiGroup, SandboxOptions } from "./options.ts";
import { cutPage, pageHeaders, type PagedList } from "./http/paging.ts";
import type { HeaderNames } from "./http/request.ts";
import type { SandboxState } from "./state.ts";

/** One call, as far as an operation needs it. */
export interface Call {
  readonly options: SandboxOptions;
  readonly accounts: Accounts;
  readonly state: SandboxState;
  /** The holder of the pair; undefined if the operation needs none. */
  readonly holder: Holder | undefined;
  /** The variable parts of the path in order, percent-decoded. */
  readonly ids: readonly string[];
  readonly names: HeaderNames;
  /** The raw query, without the question mark. */
  readonly queryText: string;
  /** Whether a body was sent. */
  readonly hasBody: boolean;
  /** The body as an object. @throws Refusal if it is not one */
  readonly body: () => Readonly<Record<string, unknown>>;
  /** The body as any JSON value. @throws Refusal if it is not JSON */
  readonly json: () => unknown;
}

export interface Result {
  readonly status: number;
  /** The body as JSON; empty if the status has none. */
  readonly text: string;
  /** Raw header list: name, value, name, value. */
  readonly headers?: readonly string[];
}

export interface Operation {
  readonly name: string;
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** `v1/sims/*`: no leading slash, `*` for a variable part. */
  readonly path: string;
  /** Absent: not subject to a quota. All operations of a path belong to one group. */
  readonly group: ApiGroup | undefined;
  readonly needsPair: boolean;
  /** How to refuse the call if the pair has expired. Default pairExpired. */
  readonly whenExpired?: RefusalName;
  handle(call: Call): Result | Promise<Result>;
}

export function answer(status: number, value: unknown): Result {
  return { status, text: JSON.stringify(value) };
}

export const done: Result = { status: 204, text: "" };

/** One page of a list; `show` returns the JSON of the item at a position, or undefined if it no longer exists. */
export function answerPage(
  { options, names, queryText }: Call,
  list: PagedList,
  show: (place: number) => string | undefined,
): Result {
  const page = cutPage(options, list, new URLSearchParams(queryText));
  let items = "";
  for (let place = page.from; place < page.to; place += 1) {
    const text = show(place);
    if (text !== undefined) items += items === "" ? text : `,${text}`;
  }
  const { path } = list;
  const headers =
    page.cursor === undefined ? [] : pageHeaders(options, { path, cursor: page.cursor, keyHeader: names.nextKey });
  return { status: 200, text: `[${items}]`, headers };
}

/** The holder of the pair of a call, for operations that need one. */
export function holderOf({ holder }: Call): Holder {
  if (holder === undefined) throw new Refusal("pairMissing");
  return holder;
}
