/**
 * Mounts the endpoints of features as Fastify routes: schemas, roles, idempotency keys, and files that are streamed
 * line by line. Endpoints do not know HTTP, so the same ones also serve commands that run in this process.
 */
import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest, preHandlerAsyncHookHandler } from "fastify";
import { z } from "zod";
import { Slots } from "#core/slots.ts";
import { noBody, nothing } from "#contract/fields.ts";
import {
  aboutOf,
  type Call,
  type Creation,
  type Endpoint,
  type Lines,
  type Route,
  type Rows,
} from "#contract/route.ts";
import { actorOf } from "./auth/access.ts";
import { goneSignal } from "./connection-limits.ts";
import type { Api, ControlDeps } from "./deps.ts";
import { once } from "./idempotency.ts";
import { withRows } from "./plans/upload.ts";

/** How long a handler may wait for the platform. */
const patienceMs = 60_000;
/** Reads of one route that are answered at once: a burst of them must not slow the runs of this worker. */
const readsAtOnce = 8;

/** Properties of a route that only HTTP needs. */
export interface HttpPart {
  readonly headers: z.ZodObject;
  /** May answer in place of the endpoint. */
  readonly preHandler: preHandlerAsyncHookHandler;
}

export function mount(
  api: Api,
  { route, handle, creation, check, audit }: Endpoint,
  deps: ControlDeps,
  { headers, preHandler }: Partial<HttpPart> = {},
): void {
  const { schema, config: settings, ...options } = optionsOf(route);
  const slots = new Slots(readsAtOnce);
  const inTurn = async (read: () => unknown, signal: AbortSignal): Promise<unknown> => {
    await slots.enter(route.path, signal);
    try {
      return await read();
    } finally {
      slots.leave();
    }
  };
  api.route({
    ...options,
    config: { ...settings, auditKind: audit, did: route.did },
    schema: headers === undefined ? schema : { ...schema, headers },
    preHandler: preHandler ?? [],
    handler: async (request, reply) => {
      const call = toCall(request);
      const gone = goneSignal(reply.raw);
      const answer = async (received?: Rows): Promise<FastifyReply> => {
        const rows = received === undefined ? undefined : { ...received, signal: gone };
        const signal = AbortSignal.any([gone, AbortSignal.timeout(patienceMs)]);
        const checked = { ...call, rows, signal } as Call<Route>;
        if (creation !== undefined) {
          return once(
            deps,
            { request, reply, route, sha256: rows?.sha256 },
            (await creation(checked)) as Creation<object>,
          );
        }
        const result = await (route.method === "GET" ? inTurn(() => handle?.(checked), gone) : handle?.(checked));
        if (request.audit !== undefined) request.audit.about = aboutOf(route, result);
        if (route.answer === "lines") return streamed(result as Lines, reply);
        return reply.code(route.status ?? 200).send(result);
      };
      const hasRows = route.rows === "required" || (route.rows === "optional" && hasBody(request));
      check?.(call, { hasRows });
      if (!hasRows) return answer();
      return withRows(request, { ...deps, by: call.by }, answer);
    },
  });
}

export function optionsOf(route: Route) {
  const { method, path: url, role } = route;
  return { method, url, config: { role }, schema: toSchema(route) };
}

/** The schemas of a route, as the server checks them and OpenAPI describes them. */
function toSchema({ method, tag, summary, description, params, query, body, rows, answer, status = 200 }: Route) {
  const isReading = method === "GET";
  return {
    summary,
    tags: [tag],
    ...(description === undefined ? {} : { description }),
    ...(params === undefined ? {} : { params }),
    querystring: query ?? nothing,
    ...(rows === undefined ? {} : { consumes: ["text/csv", "multipart/form-data", "application/json"] }),
    ...(isReading || rows !== undefined ? {} : { body: body ?? noBody }),
    response: { [status]: answer === "lines" ? fileOfLines : answer },
  };
}

/** The validated request, as a handler receives it. */
function toCall(request: FastifyRequest): Call<Route> {
  const { params, query, body, principal } = request;
  return { params, query, body, by: actorOf(principal) } as unknown as Call<Route>;
}

function hasBody(request: FastifyRequest): boolean {
  return (request.body !== undefined && request.body !== null) || request.isMultipart();
}

function streamed({ format, fileName, lines }: Lines, reply: FastifyReply): FastifyReply {
  return reply
    .type(format === "csv" ? "text/csv; charset=utf-8" : "application/x-ndjson")
    .header("content-disposition", `attachment; filename="${fileName}"`)
    .send(Readable.from(lines));
}

/** Streams lines, without buffering or serializing them. */
const text = z.string() as unknown as z.ZodType<Readable>;

const fileOfLines = {
  description: "The file, line by line",
  content: { "text/csv": { schema: text }, "application/x-ndjson": { schema: text } },
} as const;
