/** Calls and operations of the platform; a call is read with minimal work. */
import type { IncomingMessage } from "node:http";
import { jsonIn } from "#core/json.ts";
import type { Accounts, Holder } from "./account/accounts.ts";
import type { ApiGroup, SandboxOptions } from "./options.ts";
import { Refusal, type RefusalName } from "./refusals.ts";
import type { SandboxState } from "./state.ts";

const headerNames = {
  apiKey: "api-key",
  token: "token",
  language: "lang",
  limit: "ratelimit-limit",
  remaining: "ratelimit-remaining",
  secondsBeforeRefresh: "ratelimit-seconds-before-refresh",
  nextKey: "next-key",
};

/** The header names of a brand, in lower case, computed once. */
export type HeaderNames = Readonly<Record<keyof typeof headerNames, string>>;

export function headerNamesOf(brand: string): HeaderNames {
  const names = Object.entries(headerNames).map(([name, end]) => [name, `x-${brand.toLowerCase()}-${end}`]);
  return Object.fromEntries(names) as HeaderNames;
}

/** Calls `then` once the whole request has arrived; never if the client disconnects before. */
export function readRequest(
  request: IncomingMessage,
  names: HeaderNames,
  maxBodyBytes: number,
  then: (received: Received) => void,
): void {
  let bodyText = "";
  let bytes = 0;
  request.setEncoding("utf8");
  request.on("data", (chunk: string) => {
    bytes += Buffer.byteLength(chunk);
    if (bytes <= maxBodyBytes) bodyText += chunk;
  });
  request.on("end", () => then({ ...readHead(request, names), bodyText, isTooLarge: bytes > maxBodyBytes }));
}

export type Received = Readonly<ReturnType<typeof readHead>> & {
  readonly bodyText: string;
  readonly isTooLarge: boolean;
};

function readHead(request: IncomingMessage, names: HeaderNames) {
  const { headers, method = "", url = "/", socket } = request;
  const mark = url.indexOf("?");
  return {
    method,
    path: mark < 0 ? url : url.slice(0, mark),
    /** Without the question mark. */
    queryText: mark < 0 ? "" : url.slice(mark + 1),
    contentType: headers["content-type"],
    language: readHeader(request, names.language) === "ja" ? ("ja" as const) : ("en" as const),
    callerIp: socket.remoteAddress ?? "",
    /** Address by which the caller reaches the sandbox. */
    host: headers.host ?? "",
    apiKey: readHeader(request, names.apiKey),
    token: readHeader(request, names.token),
  };
}

/** The body as JSON. @throws Refusal if it is not JSON, is too large, or does not have the JSON content type */
export function bodyJson({ bodyText, contentType, isTooLarge }: Received): unknown {
  if (isTooLarge) throw new Refusal("bodyTooLarge");
  if (bodyText !== "" && !/^application\/json\b/i.test(contentType ?? "")) throw new Refusal("bodyTypeWrong");
  const value = jsonIn(bodyText);
  if (value === undefined) throw new Refusal("bodyNotJson");
  return value;
}

/** The body as a JSON object. @throws Refusal if it is not one */
export function bodyObject(received: Received): Readonly<Record<string, unknown>> {
  const value = bodyJson(received);
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Refusal("bodyNotJson");
  return value as Readonly<Record<string, unknown>>;
}

function readHeader(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === "string" ? value : undefined;
}

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
