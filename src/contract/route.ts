/**
 * A route of the control API as data, and what carries it out. It is declared once, in the feature's `contract.ts`: the
 * server mounts and checks it, OpenAPI describes it, and the command line and dashboard take their types from it. An
 * endpoint ties a route to its handler. Handlers know no HTTP, so a command can call them in its own process.
 */
import { z } from "zod";
import type { Filter } from "#fleet/filter.ts";
import type { Role } from "#fleet/role.ts";
import type { Outcome } from "#fleet/run.ts";

export interface Route {
  readonly method: "GET" | "POST" | "DELETE";
  /** Below `/v1`, with its parameters: `/runs/:runId`. */
  readonly path: `/${string}`;
  readonly role: Role;
  /** The heading in the description of the API. */
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  /** Schema of the body. Absent: no body, or `{}`. */
  readonly body?: z.ZodType;
  /** The body is rows: a CSV file, a form with one, or a filter in JSON. `optional`: it may be left out. */
  readonly rows?: "required" | "optional";
  /** The schema of the response; `lines`: a file of lines, CSV or NDJSON, that is streamed. */
  readonly answer: z.ZodType | "lines";
  /** Words of the audit log before the name of the object: `paused the run`. */
  readonly did?: string;
  /** Describes the response for the audit log, without secrets. */
  readonly about?: (answer: never) => string;
  /** 200 by default. */
  readonly status?: 200 | 201 | 202 | 204;
}

type Declared = Omit<Route, "tag"> & Partial<Pick<Route, "tag">>;

/** Declares a route. Its tag is the first word of its path, unless it names one. */
export function route<const R extends Declared>(declared: R): R & Pick<Route, "tag"> {
  return { tag: declared.path.split("/")[1] ?? "", ...declared };
}

/** Declares a route that every caller may read. */
export function getRoute<const R extends Omit<Declared, "method" | "role">>(declared: R) {
  return route({ method: "GET", role: "viewer", ...declared });
}

/** Declares a route that every operator may call. */
export function postRoute<const R extends Omit<Declared, "method" | "role">>(declared: R) {
  return route({ method: "POST", role: "operator", ...declared });
}

/** Declares a route that removes something, and whose response is empty. */
export function deleteRoute<const R extends Omit<Declared, "method" | "answer" | "status">>(declared: R) {
  return route({ method: "DELETE", answer: z.undefined(), status: 204, ...declared });
}

/** Description of a response for the audit log; undefined for most routes. */
export function aboutOf({ about }: Route, answer: unknown): string | undefined {
  return (about as ((answer: unknown) => string) | undefined)?.(answer).slice(0, 500);
}

type Parsed<S> = S extends z.ZodType ? z.output<S> : undefined;

/** The response of a route as a caller gets it. */
export type Answer<R extends Route> = R["answer"] extends z.ZodType ? z.output<R["answer"]> : AsyncIterable<string>;

export interface Call<R extends Route> {
  readonly params: Parsed<R["params"]>;
  readonly query: Parsed<R["query"]>;
  readonly body: Parsed<R["body"]>;
  readonly rows: R["rows"] extends "required" ? Rows : R["rows"] extends "optional" ? Rows | undefined : undefined;
  /** Who calls: `token:NAME`, `cli:USER`. */
  readonly by: string;
  /** Aborts after Ctrl-C in a command; a minute after a worker has started to answer, and when its caller has gone. */
  readonly signal: AbortSignal;
}

/** Rows as a caller passes them: path of a CSV file, or filter on the inventory. `read` gives the content of a pipe. */
export type RowsRequest =
  | { readonly file: string; readonly read?: (() => AsyncIterable<Uint8Array>) | undefined }
  | { readonly where: string | readonly string[] }
  | Extract<Rows["from"], { readonly retryOf: string } | { readonly undoOf: string }>;

/** Rows as a handler gets them. */
export interface Rows {
  readonly from:
    | { readonly path: string; readonly read?: (() => AsyncIterable<Uint8Array>) | undefined }
    | { readonly filter: Filter }
    | { readonly sims: readonly string[] }
    | {
        readonly retryOf: string;
        readonly outcomes?: readonly Outcome[] | undefined;
        readonly lines?: readonly number[] | undefined;
        readonly reason?: string | undefined;
      }
    | { readonly undoOf: string };
  /** Operation and values that came with the filter. */
  readonly operation?: string | undefined;
  /** Values for all rows by input, if they came with the filter. */
  readonly set?: Readonly<Record<string, string>> | undefined;
  /** Hash of rows that came as a whole, hex, to distinguish requests; absent for a file, which is read as it comes. */
  readonly sha256?: string;
  /** The room that an upload takes up; absent for a file that stays where it is. */
  readonly upload?: { readonly id: string; readonly bytes: number };
  /** Aborts when who sent them no longer waits. */
  readonly signal?: AbortSignal;
}

/** Arguments of a route. Parts with defaults are optional. */
export type Request<R extends Route> = Part<"params", R["params"]> &
  Part<"query", R["query"]> &
  Part<"body", R["body"]> &
  (R["rows"] extends "required"
    ? { readonly rows: RowsRequest }
    : R["rows"] extends "optional"
      ? { readonly rows?: RowsRequest | undefined }
      : unknown);
type Part<Name extends string, S> = S extends z.ZodType
  ? undefined extends z.input<S>
    ? { readonly [N in Name]?: z.input<S> }
    : object extends z.input<S>
      ? { readonly [N in Name]?: z.input<S> }
      : { readonly [N in Name]: z.input<S> }
  : unknown;

/** A request that creates something, carried out once per `Idempotency-Key`. */
export interface Creation<T> {
  /** A new id for what is created. */
  readonly newId: () => string;
  /** Creates it. A second call with the same id creates nothing new. */
  readonly create: (id: string) => Promise<T>;
  /** Shows what was created, as it is now. */
  readonly show: (id: string) => Promise<T>;
  /** Whether an earlier attempt has created it, where creating it again would be rejected. */
  readonly exists?: (id: string) => Promise<boolean>;
  /** Path below `/v1`; its last part names what was created in the audit log. */
  readonly pathOf: (created: T) => string;
  /** Hash of a file that was read beforehand, hex, to distinguish requests. */
  readonly sha256?: string;
  /** Takes back what was prepared: the request was carried out before, or cannot be. */
  readonly abandon?: () => Promise<void>;
}

export interface Lines {
  readonly format: "csv" | "ndjson";
  readonly fileName: string;
  readonly lines: AsyncIterable<string>;
}

type Handled<R extends Route> = R["answer"] extends z.ZodUndefined
  ? void
  : R["answer"] extends z.ZodType
    ? z.input<R["answer"]>
    : Lines;

/** A route with its handler. */
export interface Endpoint {
  readonly route: Route;
  /** The kind under which the audit log has its calls. */
  readonly audit?: string;
  /** @throws SimfleetError */
  readonly handle?: (call: Call<Route>) => unknown;
  /** Runs before rows are uploaded; `hasRows`: some come with the request. @throws SimfleetError */
  readonly check?: (call: Call<Route>, request: { readonly hasRows: boolean }) => void;
  /** Instead of `handle`. @throws SimfleetError */
  readonly creation?: (call: Call<Route>) => Creation<unknown> | Promise<Creation<unknown>>;
}

/** Ties a route to the function that answers it. */
export function endpoint<R extends Route>(
  declared: R,
  handle: (call: Call<R>) => Handled<R> | Promise<Handled<R>>,
): Endpoint {
  return { route: declared, handle };
}

/** Ties a route to what it creates. */
export function creating<R extends Route>(
  declared: R,
  creation: (call: Call<R>) => Creation<Handled<R>> | Promise<Creation<Handled<R>>>,
  check?: (call: Omit<Call<R>, "rows">, request: { readonly hasRows: boolean }) => void,
): Endpoint {
  return { route: declared, creation: creation as never, ...(check === undefined ? {} : { check: check as never }) };
}
