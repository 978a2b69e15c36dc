/**
 * The control API: every route under /v1 with its schemas, rate limit and OpenAPI description. zod checks queries,
 * bodies and answers within this scope only, so that the plugins of other pages keep their own validation. It opens no
 * port (server.ts) and does not authenticate (auth/guard.ts).
 */
import multipart from "@fastify/multipart";
import rateLimit from "@fastify/rate-limit";
import swagger from "@fastify/swagger";
import type { FastifyInstance } from "fastify";
import { serializerCompiler, validatorCompiler, type ZodTypeProvider } from "fastify-type-provider-zod";
import { SimfleetError } from "#core/errors.ts";
import { minuteMs } from "#core/time.ts";
import { listEvents } from "#events/contract.ts";
import { addBodyTypes } from "./body-types.ts";
import type { Api, ControlDeps } from "./deps.ts";
import { eventStream } from "./routes/event-stream.ts";
import { mount } from "./mount.ts";
import { addDescription, describedBy } from "./openapi.ts";
import { watchEventLoop } from "./event-loop.ts";
import { hookRoutes } from "./routes/hooks.ts";
import { meRoutes } from "./routes/me.ts";

/** Beyond this the event loop is so late that one more request only makes it worse. */
const mostEventLoopDelayMs = 3_000;

const nouns: readonly ((api: Api, deps: ControlDeps) => void)[] = [meRoutes, hookRoutes];

export async function controlApi(server: FastifyInstance, deps: ControlDeps): Promise<void> {
  server.setValidatorCompiler(validatorCompiler);
  server.setSerializerCompiler(serializerCompiler);
  await server.register(swagger, describedBy(deps.version));
  const delay = watchEventLoop(deps.clock);
  server.addHook("onClose", (_server, done) => {
    delay.stop();
    done();
  });
  server.addHook("onRequest", (_request, _reply, done) => {
    const isLate = delay.lateMs > mostEventLoopDelayMs;
    done(isLate ? new SimfleetError("OVERLOADED", "The worker is overloaded: retry later") : undefined);
  });
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
  // Files are not parsed here: their route writes them to the spool.
  server.addContentTypeParser("text/csv", (_request, payload, done) => done(null, payload));
  await addDescription(server);
  await server.register(
    (child, _options, done) => {
      child.addHook("onRequest", (_request, reply, next) => {
        reply.header("cache-control", "no-store");
        next();
      });
      addBodyTypes(child);
      const api: Api = child.withTypeProvider<ZodTypeProvider>();
      for (const routes of nouns) routes(api, deps);
      for (const endpoint of deps.endpoints) {
        mount(api, endpoint, deps, endpoint.route === listEvents ? eventStream(deps) : {});
      }
      done();
    },
    { prefix: "/v1" },
  );
}
