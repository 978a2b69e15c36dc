/**
 * The control API: every route under /v1 with its schemas, rate limit and OpenAPI description. zod checks queries,
 * bodies and answers within this scope only, so that the plugins of other pages keep their own validation. It opens no
 * port (server.ts) and does not authenticate (auth/access.ts).
 */
import multipart from "@fastify/multipart";
import rateLimit from "@fastify/rate-limit";
import swagger from "@fastify/swagger";
import { z } from "zod";
import { serializerCompiler, validatorCompiler, type ZodTypeProvider } from "fastify-type-provider-zod";
import { minuteMs } from "#core/time.ts";
import { listEvents } from "#events/contract.ts";
import { typesMeantBy } from "#events/event.ts";
import { idBefore } from "#events/feed.ts";
import { type HttpPart, mount, optionsOf } from "./mount.ts";
import { addDescription, describedBy } from "./openapi.ts";
import { triggerRoutes } from "./routes/triggers.ts";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { SimfleetError } from "#core/errors.ts";
import { asList, noBody } from "#contract/fields.ts";
import type { Call } from "#contract/route.ts";
import { parseInstant } from "#core/ago.ts";
import { type Me, showMe } from "#contract/me.ts";
import type { Api, ControlDeps } from "./deps.ts";

export async function controlApi(server: FastifyInstance, deps: ControlDeps): Promise<void> {
  server.setValidatorCompiler(validatorCompiler);
  server.setSerializerCompiler(serializerCompiler);
  await server.register(swagger, describedBy(deps.version));
  await server.register(rateLimit, {
    max: deps.config.http.requestsPerMinute,
    timeWindow: minuteMs,
    keyGenerator: ({ principal, ip }) => (principal === undefined ? ip : `${principal.kind} ${principal.name}`),
    errorResponseBuilder: (_request, { after }) =>
      new SimfleetError("TOO_MANY_REQUESTS", `Too many requests: retry in ${after}`),
  });
  await server.register(multipart, {
    limits: { files: 1, fields: 10, fileSize: deps.config.http.uploadBytes + 1 },
  });
  // Files are not parsed here: their route reads them as they arrive.
  server.addContentTypeParser("text/csv", (_request, payload, done) => done(null, payload));
  await addDescription(server);
  await server.register(
    (child, _options, done) => {
      child.addHook("onRequest", (_request, reply, next) => {
        reply.header("cache-control", "no-store");
        next();
      });
      child.addHook("preParsing", (request, _reply, payload, next) => next(findFault(request), payload));
      const api: Api = child.withTypeProvider<ZodTypeProvider>();
      addMe(api, deps);
      triggerRoutes(api, deps);
      for (const endpoint of deps.endpoints) {
        mount(api, endpoint, deps, endpoint.route === listEvents ? eventStream(deps) : {});
      }
      done();
    },
    { prefix: "/v1" },
  );
}

// Checks the content type of a request before its body is read. A route accepts a file only if it declares one
// (`consumes`), and JSON otherwise. The error lists what the route accepts. It does not check the content itself: the
// schemas do.

const json = "application/json";

function findFault({ method, headers, routeOptions }: FastifyRequest): SimfleetError | null {
  const { config, schema, url = "" } = routeOptions;
  if (method === "GET" || method === "HEAD" || config.takesAnyBody === true) return null;
  const written = headers["content-type"] ?? "";
  const isEmpty = (headers["content-length"] ?? "0") === "0" && headers["transfer-encoding"] === undefined;
  if (written === "" && isEmpty) return null;
  const type = written.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  const { consumes = [json], body } = (schema ?? {}) as { consumes?: readonly string[]; body?: unknown };
  if (consumes.includes(type)) return null;
  const takesNone = consumes.length === 1 && (body === undefined || body === noBody);
  const taken = takesNone
    ? "no body: leave it and its Content-Type out"
    : new Intl.ListFormat("en-GB", { type: "disjunction" }).format(consumes);
  const given = type === "" ? "what has no Content-Type" : type.slice(0, 100);
  return new SimfleetError("BODY_UNSUPPORTED", `${method} ${url} does not take ${given}. It takes ${taken}`);
}

// Who am I: answered from the credential of the request, which no endpoint sees.

function addMe(api: Api, { version, config }: ControlDeps): void {
  api.route({
    ...optionsOf(showMe),
    handler: ({ principal }): Me => {
      const { name = "", role = "viewer", kind = "token" } = principal ?? {};
      return { name, role, kind, version, configuration: config.tasksHash ?? null };
    },
  });
}

const maxInId = 2n ** 64n - 1n;
const eventId = z
  .string()
  .regex(/^\d{1,15}-\d{1,20}$/, "must be the ID of an event")
  .refine((id) => BigInt(id.split("-")[1] ?? "0") <= maxInId, "must be the ID of an event");

/** The stream form of `GET /v1/events`, next to the list that the route responds with. */
function eventStream({ streams, profileOf }: Pick<ControlDeps, "streams" | "profileOf">): HttpPart {
  return {
    headers: z.object({ "last-event-id": eventId.optional() }),
    preHandler: async (request, reply) => {
      const { accept = "", "last-event-id": lastId } = request.headers;
      if (!accept.includes("text/event-stream")) return undefined;
      const { profile, type, since } = request.query as Call<typeof listEvents>["query"];
      const sinceMs = parseInstant(since);
      const afterId = sinceMs === undefined ? undefined : idBefore(sinceMs);
      await streams.serve(request, reply, {
        types: asList(type)?.flatMap(typesMeantBy),
        profile: profile === undefined ? undefined : profileOf(profile),
        fromId: typeof lastId === "string" ? lastId : afterId,
      });
      return reply;
    },
  };
}
