/**
 * `/metrics` for Prometheus, and the count of requests. Values of the whole fleet are read from Redis on request and
 * cached briefly; values of this process are counted as they happen.
 */
import type { FastifyInstance } from "fastify";
import { secondMs } from "#core/time.ts";
import { Metrics, type Reading } from "#telemetry/metrics.ts";
import type { ControlDeps } from "../deps.ts";

/** How long the values are cached, for any number of requests. */
const standsMs = 2 * secondMs;

export function addMetrics(server: FastifyInstance, deps: ControlDeps): void {
  const metrics = new Metrics();
  const stopWatching = metrics.watchTimings();
  server.addHook("onClose", (_server, done) => {
    stopWatching();
    done();
  });
  let last: { readings: Promise<Reading[]>; atMs: number } | undefined;
  const readings = (): Promise<Reading[]> => {
    const nowMs = deps.clock.monotonicMs();
    if (last === undefined || nowMs - last.atMs > standsMs) last = { readings: deps.readings(), atMs: nowMs };
    return last.readings;
  };
  server.addHook("onResponse", (request, reply, done) => {
    const route = request.routeOptions.url ?? "none";
    const labels = { method: request.method, route, status: String(reply.statusCode) };
    metrics.countRequest(labels, reply.elapsedTime / secondMs);
    done();
  });
  const role = deps.config.http.metrics === "open" ? "open" : "viewer";
  server.get("/metrics", { config: { role } }, async (_request, reply) =>
    reply.type(metrics.contentType).send(await metrics.text(await readings())),
  );
}
