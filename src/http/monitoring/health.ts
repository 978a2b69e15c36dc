/**
 * The worker's health. `/healthz` reports whether work makes progress, not just whether the process runs: a worker can
 * be connected and still be stuck after an outage of Redis. `/readyz` reports whether it accepts work.
 */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { SimfleetError } from "#core/errors.ts";
import { keepAnswers } from "#core/kept.ts";
import { secondMs } from "#core/time.ts";
import { requestTime, type Timing } from "#core/timings.ts";
import { type Reading, openMetrics } from "#telemetry/metrics.ts";
import type { ControlDeps } from "../deps.ts";
import { type OpenSpan, tracing } from "#core/traced.ts";

/** Sources of a process's health. */
export interface Health {
  /** Whether work is progressing; false if work waits and none was started for a while. */
  isMoving(): Promise<boolean>;
  /** Whether Redis accepts writes and the consumers run. @throws SimfleetError with the reason why not */
  isReady(): Promise<boolean>;
  /** Whether a changed configuration was not valid, so that the previous one is in use. */
  isConfigRejected?(): boolean;
}

export function addHealth(
  server: FastifyInstance,
  health: Health,
  about: { readonly version: string; readonly configuration: string | undefined },
): void {
  const route = (path: string, isGood: () => Promise<boolean>): void => {
    server.get(path, { config: { role: "open" } }, async (_request, reply) => {
      let reason: string | undefined;
      const isFine = await isGood().catch((thrown: unknown) => {
        if (thrown instanceof SimfleetError) reason = thrown.message;
        return false;
      });
      return reply
        .code(isFine ? 200 : 503)
        .header("cache-control", "no-store")
        .send({ status: isFine ? "ok" : "unavailable", reason, ...about });
    });
  };
  route("/healthz", () => health.isMoving());
  route("/readyz", () => health.isReady());
}

// `/metrics` for Prometheus, and the count of requests. Values of the whole fleet are read from Redis on request and
// cached briefly; values of this process are counted as they happen.

/** Least time for which the values are kept, for any number of requests. */
const minKeptMs = 2 * secondMs;

export function addMetrics(server: FastifyInstance, deps: ControlDeps): void {
  const metrics = openMetrics();
  server.addHook("onClose", (_server, done) => {
    metrics.close();
    done();
  });
  const kept = keepAnswers<Reading[]>(deps.clock, minKeptMs);
  server.addHook("onResponse", (request, reply, done) => {
    const route = request.routeOptions.url ?? "none";
    const labels = { method: request.method, route, status: String(reply.statusCode) };
    requestTime.publish({ seconds: reply.elapsedTime / secondMs, labels } satisfies Timing);
    done();
  });
  const role = deps.config.http.metrics === "open" ? "open" : "viewer";
  server.get("/metrics", { config: { role } }, async (_request, reply) =>
    reply.type(metrics.contentType).send(await metrics.text(await kept("", deps.readings))),
  );
}

// A span for each request to this worker, which continues the caller's trace.

export function addTracing(server: FastifyInstance): void {
  const spans = new WeakMap<FastifyRequest, OpenSpan>();
  server.addHook("onRequest", (request, _reply, done) => {
    const { traceparent } = request.headers;
    const route = request.routeOptions.url;
    const span = tracing()?.begin({
      name: route === undefined ? request.method : `${request.method} ${route}`,
      kind: "server",
      attributes: {
        "http.request.method": request.method,
        "url.scheme": request.protocol,
        "url.path": request.url.split("?")[0] ?? "",
        ...(route === undefined ? {} : { "http.route": route }),
      },
      parent: typeof traceparent === "string" ? traceparent : undefined,
    });
    if (span === undefined) return done();
    spans.set(request, span);
    span.run(done);
  });
  server.addHook("onResponse", (request, reply, done) => {
    const span = spans.get(request);
    span?.set({ "http.response.status_code": reply.statusCode });
    if (reply.statusCode >= 500) span?.fail(String(reply.statusCode));
    span?.end();
    done();
  });
}
