/**
 * Calls routes. There are two clients with this one interface: this file's calls the handlers in the same process, and
 * the command line's HTTP client sends requests to a worker. A command does not know which one it uses.
 */
import type { z } from "zod";
import { SimfleetError } from "#core/errors.ts";
import { parseFilter } from "#fleet/filter.ts";
import { issueText } from "./fields.ts";
import {
  aboutOf,
  type Answer,
  type Call,
  type Endpoint,
  type Lines,
  type Request,
  type Route,
  type Rows,
  type RowsRequest,
} from "./route.ts";

export interface Client {
  /** @throws SimfleetError with the code of the handler */
  call<R extends Route>(route: R, ...request: RequestOf<R>): Promise<Answer<R>>;
}

/** The request may be left out where none of its parts is required. */
export type RequestOf<R extends Route> = object extends Request<R> ? [request?: Request<R>] : [request: Request<R>];

export interface AnyRequest {
  readonly params?: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  readonly rows?: RowsRequest | undefined;
}

/** @param send carries a request to the handler of its route, and brings the result back */
export function clientOf(send: (route: Route, request: AnyRequest) => Promise<unknown>): Client {
  return {
    call: async <R extends Route>(route: R, ...[request]: RequestOf<R>) =>
      (await send(route, request ?? {})) as Answer<R>,
  };
}

/**
 * Calls handlers in this process.
 * @param caller `by`: who calls, as events and runs name it; `signal`: aborts when the caller no longer waits; `note`
 *   gets what the audit log says of a response, and the ID of the created object
 */
export function localClient(
  endpointOf: (route: Route) => Promise<Endpoint>,
  caller: Pick<Call<Route>, "by" | "signal"> & { readonly note: (about: string, made: string | undefined) => void },
): Client {
  return clientOf(async (route, request) => {
    const { result, made } = await carryOut(await endpointOf(route), toCall(route, request, caller));
    const about = aboutOf(route, result);
    if (about !== undefined) caller.note(about, made);
    if (route.answer === "lines") return (result as Lines).lines;
    // As over HTTP, where a field that is not declared does not leave the worker.
    return route.answer.parse(result);
  });
}

/** Carries out a checked request, without an idempotency key. */
async function carryOut({ handle, creation }: Endpoint, call: Call<Route>) {
  if (creation === undefined) return { result: await handle?.(call), made: undefined };
  const { newId, create } = await creation(call);
  const made = newId();
  return { result: await create(made), made };
}

/** @throws SimfleetError USAGE for a request that does not match the route's schemas */
function toCall(
  route: Route,
  { params, query = {}, body, rows }: AnyRequest,
  { by, signal }: Pick<Call<Route>, "by" | "signal">,
): Call<Route> {
  return {
    params: parsed(route.params, params),
    query: parsed(route.query, query),
    body: parsed(route.body, body),
    rows: rows === undefined ? undefined : { ...localRows(rows), signal },
    by,
    signal,
  } as Call<Route>;
}

/** A file is read where it lies. @throws SimfleetError USAGE for a filter that cannot be read */
function localRows(rows: RowsRequest): Rows {
  if ("file" in rows) return { from: { path: rows.file, read: rows.read } };
  return { from: "where" in rows ? { filter: parseFilter(rows.where) } : rows };
}

function parsed(schema: z.ZodType | undefined, given: unknown): unknown {
  if (schema === undefined) return undefined;
  const read = schema.safeParse(given);
  if (read.success) return read.data;
  throw new SimfleetError(
    "USAGE",
    read.error.issues.map((issue) => `${issue.path.join(".") || "request"}: ${issueText(issue)}`).join("; "),
  );
}
