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
import { actorOf } from "./auth/principal.ts";
import type { Api, ControlDeps } from "./deps.ts";
import { withRows } from "./plans/upload.ts";
import { createHash } from "node:crypto";
import { errorCatalogue, SimfleetError } from "#core/errors.ts";
import type { Remembered } from "#engine/idempotency.ts";

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
      const call = callOf(request);
      const gone = goneSignal(reply);
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
      const { plans, clock, config } = deps;
      return withRows(request, { plans, clock, limits: config.http, by: call.by }, answer);
    },
  });
}

/** Aborts when the caller disconnects before the response. */
function goneSignal({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController();
  raw.once("close", () => {
    if (!raw.writableFinished) gone.abort();
  });
  return gone.signal;
}

export function optionsOf(route: Route) {
  const { method, path: url, role } = route;
  return { method, url, config: { role }, schema: schemaOf(route) };
}

/** The schemas of a route, as the server checks them and OpenAPI describes them. */
function schemaOf({ method, tag, summary, description, params, query, body, rows, answer, status = 200 }: Route) {
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
function callOf(request: FastifyRequest): Call<Route> {
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

// Runs a request that creates something once, even if it arrives again with the same `Idempotency-Key`. The response is
// kept for a day and sent again. The object gets its id before it is created. If the process dies in between, a
// repeated request finds the object by that id, so there is no duplicate.

const keyForm = /^[\x21-\x7e]{1,255}$/;

interface Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly route: Route;
  /** Hash of rows that came as a whole, hex. */
  readonly sha256: string | undefined;
}

/**
 * Runs the request, or returns the stored answer.
 * @throws SimfleetError IDEMPOTENCY_REUSED, IDEMPOTENCY_BUSY; what `create` throws; then no response is stored
 */
async function once(
  { idempotency }: ControlDeps,
  exchange: Exchange,
  creation: Creation<object>,
): Promise<FastifyReply> {
  const { request, reply } = exchange;
  const sha256 = creation.sha256 ?? exchange.sha256;
  const key = keyIn(request);
  if (key === undefined) {
    return send(reply, answerOf(exchange, await creation.create(creation.newId()), creation));
  }
  const claim = await idempotency
    .begin({
      id: digestOf(actorOf(request.principal), request.method, request.routeOptions.url, key),
      fingerprint: digestOf(request.url, sha256 ?? JSON.stringify(request.body ?? null)),
      ref: creation.newId(),
    })
    .catch(async (thrown: unknown) => {
      await creation.abandon?.();
      throw thrown;
    });
  if ("status" in claim) {
    await creation.abandon?.();
    return send(reply.header("idempotent-replayed", "true"), claim);
  }
  try {
    const found = claim.isResumed ? await creation.find?.(claim.ref) : undefined;
    if (found !== undefined) await creation.abandon?.();
    const answer = answerOf(exchange, found ?? (await creation.create(claim.ref)), creation);
    await claim.answer(answer);
    return await send(reply, answer);
  } catch (thrown) {
    const isRefusal = thrown instanceof SimfleetError && errorCatalogue[thrown.code].status < 500;
    // A rejected request created nothing. After any other error this is unknown, and the request continues under the same id.
    await (isRefusal ? claim.forget() : claim.release()).catch(() => undefined);
    throw thrown;
  }
}

function answerOf({ request, reply, route }: Exchange, created: object, { pathOf }: Creation<object>): Remembered {
  if (request.audit !== undefined) request.audit.about = aboutOf(route, created);
  const status = route.status === 201 ? 201 : 202;
  reply.code(status);
  const location = pathOf === undefined ? undefined : `/v1${pathOf(created)}`;
  // The route's schema guarantees a string.
  return { status, location, body: reply.serialize(created) as string };
}

function send(reply: FastifyReply, { status, location, body }: Remembered): FastifyReply {
  if (location !== undefined) reply.header("location", location);
  return reply
    .code(status)
    .type("application/json; charset=utf-8")
    .serializer((json: unknown) => json as string)
    .send(body);
}

function keyIn({ headers }: FastifyRequest): string | undefined {
  const key = headers["idempotency-key"];
  if (key === undefined) return undefined;
  if (typeof key === "string" && keyForm.test(key)) return key;
  throw new SimfleetError("REQUEST_INVALID", "An Idempotency-Key must have 1 to 255 visible ASCII characters");
}

function digestOf(...parts: readonly unknown[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}
