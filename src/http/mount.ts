/** Mounts the endpoints of features on the server: schemas, roles, idempotency keys, and files of lines. */
import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { noBody, nothing } from "#contract/fields.ts";
import type { Call, Creation, Endpoint, Lines, Route } from "#contract/route.ts";
import { actorOf } from "./auth/principal.ts";
import type { Api, ControlDeps } from "./deps.ts";
import { once } from "./once.ts";

/** How long a handler may wait for the platform. */
const patienceMs = 60_000;

export function mount(api: Api, { route, handle, creation }: Endpoint, deps: ControlDeps): void {
  const { method, path: url } = route;
  api.route({
    ...{ method, url, config: { role: route.role }, schema: schemaOf(route) },
    handler: async (request, reply) => {
      const call = callOf(request);
      if (creation !== undefined) return created(await creation(call), { request, reply, route }, deps);
      const result = await handle?.(call);
      if (route.answer === "lines") return streamed(result as Lines, reply);
      return reply.code(route.status ?? 200).send(result);
    },
  });
}

/** The schemas of a route, as the server checks them and OpenAPI describes them. */
function schemaOf({ method, tag, summary, description, params, query, body, answer, status = 200 }: Route) {
  const isReading = method === "GET";
  return {
    ...{ summary, tags: [tag] },
    ...(description === undefined ? {} : { description }),
    ...(params === undefined ? {} : { params }),
    querystring: query ?? nothing,
    ...(isReading ? {} : { body: body ?? noBody }),
    response: { [status]: answer === "lines" ? fileOfLines : answer },
  };
}

/** What a handler gets of a request that has passed its schemas. */
function callOf(request: FastifyRequest): Call<Route> {
  const { params, query, body, principal } = request;
  const signal = AbortSignal.timeout(patienceMs);
  return { params, query, body, by: actorOf(principal), signal } as unknown as Call<Route>;
}

function created(
  creation: Creation<unknown>,
  { request, reply, route }: { request: FastifyRequest; reply: FastifyReply; route: Route },
  deps: ControlDeps,
): Promise<FastifyReply> {
  const { newId, create, find, pathOf } = creation as Creation<object>;
  return once(
    deps,
    { request, reply },
    {
      status: route.status === 201 ? 201 : 202,
      newRef: newId,
      make: create,
      ...(find === undefined ? {} : { find }),
      ...(pathOf === undefined ? {} : { locationOf: (result: object) => `/v1${pathOf(result)}` }),
    },
  );
}

function streamed({ format, fileName, lines }: Lines, reply: FastifyReply): FastifyReply {
  return reply
    .type(format === "csv" ? "text/csv; charset=utf-8" : "application/x-ndjson")
    .header("content-disposition", `attachment; filename="${fileName}"`)
    .send(Readable.from(lines));
}

/** Lines are not held in memory, and no serializer sees them. */
const text = z.string() as unknown as z.ZodType<Readable>;

export const fileOfLines = {
  description: "The file, line by line",
  content: { "text/csv": { schema: text }, "application/x-ndjson": { schema: text } },
} as const;
