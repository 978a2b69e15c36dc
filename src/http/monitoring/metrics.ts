/**
 * `/metrics` for Prometheus, and the count of requests. Values of the whole fleet are read from Redis on request and
 * cached briefly; values of this process are counted as they happen.
 */
import type { FastifyInstance } from "fastify";
import { secondMs } from "#core/time.ts";
import { Metrics, type Reading, quotaReadings } from "#telemetry/metrics.ts";
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
    if (last === undefined || nowMs - last.atMs > standsMs) last = { readings: gather(deps), atMs: nowMs };
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

async function gather({ app, config, clock, streams }: ControlDeps): Promise<Reading[]> {
  const profiles = Object.keys(config.profiles);
  const [census, buckets, depths, events, unattended, memory, facts] = await Promise.all([
    app.runs.census(),
    app.runs.buckets(),
    app.control.queues.depths(),
    app.feed.size(),
    gatherUnattended(app, clock),
    app.storage.memory(),
    Promise.all(profiles.map(async (profile) => ({ profile, ...(await app.sims.facts(profile)) }))),
  ]);
  return [
    ...Object.entries(census.runs).map(([state, value]) => reading("runs", value, { state })),
    ...Object.entries(census.rows).map(([outcome, value]) => reading("rows", value, { outcome })),
    ...quotaReadings(buckets),
    ...depths.map(({ queue, state, jobs }) => reading("jobs", jobs, { queue, state })),
    ...facts.flatMap(({ profile, known, gone, listedAtMs }) => [
      reading("sims", known, { profile, standing: "listed" }),
      reading("sims", gone, { profile, standing: "gone" }),
      ...(listedAtMs === undefined ? [] : [reading("syncAge", (clock.wallMs() - listedAtMs) / secondMs, { profile })]),
    ]),
    ...unattended,
    reading("redisMemory", memory.usedBytes),
    reading("redisMemoryLimit", memory.limitBytes),
    reading("events", events),
    reading("streams", streams.count),
  ];
}

/** Background work: webhooks, schedules, automations. */
async function gatherUnattended(app: ControlDeps["app"], clock: ControlDeps["clock"]): Promise<Reading[]> {
  const [webhooks, schedules, automations] = await Promise.all([
    app.webhooks.list(),
    app.schedules.list(),
    app.automations.list(),
  ]);
  return [
    ...webhooks.flatMap(({ name: webhook, pending, dropped, state }) => [
      reading("deliveries", pending, { webhook }),
      reading("dropped", dropped, { webhook }),
      reading("webhookStopped", Number(state === "stopped"), { webhook }),
    ]),
    ...schedules.flatMap(({ name: schedule, last }) => {
      if (last === null) return [];
      const ageMs = clock.wallMs() - Date.parse(last.finishedAt);
      return [
        reading("scheduleResult", 1, { schedule, result: last.result }),
        reading("scheduleAge", ageMs / secondMs, { schedule }),
      ];
    }),
    ...automations.flatMap(({ name: automation, state, done, unchanged, failed }) => [
      reading("automationStopped", Number(state === "stopped"), { automation }),
      ...Object.entries({ done, unchanged, failed }).map(([outcome, count]) =>
        reading("automationEvents", count, { automation, outcome }),
      ),
    ]),
  ];
}

function reading(metric: Reading["metric"], value: number, labels: Readonly<Record<string, string>> = {}): Reading {
  return { metric, value, labels };
}
