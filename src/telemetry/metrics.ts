/**
 * Every metric there is, in one table, and the registry that writes them down for Prometheus. What Redis counts for all
 * workers is read on request; what this process counts is counted as it happens.
 */
import type { Channel } from "node:diagnostics_channel";
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from "prom-client";
import { callTime, gatewayCall, gatewayWait, queueTime, quotaWait, requestTime, type Timing } from "#core/timings.ts";

const gauge = (name: string, help: string, ...labels: readonly string[]) => {
  return { kind: "gauge", name, help, labels } as const;
};
const counter = (name: string, help: string, ...labels: readonly string[]) => {
  return { kind: "counter", name, help, labels } as const;
};

/** Values that are read, most of them from Redis. */
export const metricCatalogue = {
  runs: gauge("simfleet_runs", "The last 1,000 runs by state", "state"),
  rows: gauge("simfleet_rows", "Rows of the last 1,000 runs by outcome", "outcome"),
  calls: counter("simfleet_calls_total", "Calls that used quota", "quota"),
  throttled: counter("simfleet_rate_limited_total", "Responses with 429", "quota"),
  limit: gauge("simfleet_quota_limit", "Calls per window, as reported by the platform", "quota"),
  left: gauge("simfleet_quota_left", "Calls left in the current window", "quota"),
  inFlight: gauge("simfleet_quota_in_flight", "Calls in flight", "quota"),
  jobs: gauge("simfleet_queue_jobs", "Jobs in a queue", "queue", "state"),
  sims: gauge("simfleet_sims", "SIMs of the inventory; standing is listed or gone", "profile", "standing"),
  syncAge: gauge("simfleet_sync_age_seconds", "Time since the start of the last complete sync", "profile"),
  deliveries: gauge("simfleet_deliveries_pending", "Messages waiting for delivery", "webhook"),
  dropped: counter("simfleet_deliveries_dropped_total", "Messages dropped to make room for newer ones", "webhook"),
  webhookFailing: gauge(
    "simfleet_webhook_failing",
    "1 if three attempts in a row to send messages to the webhook failed",
    "webhook",
  ),
  webhookStopped: gauge(
    "simfleet_webhook_stopped",
    "1 if the webhook is stopped because its endpoint returned 410 Gone",
    "webhook",
  ),
  scheduleResult: gauge(
    "simfleet_schedule_last_result",
    "1 for the last result of the schedule's task",
    "schedule",
    "result",
  ),
  scheduleAge: gauge("simfleet_schedule_last_age_seconds", "Time since the schedule's task last ended", "schedule"),
  automationStopped: gauge("simfleet_automation_stopped", "1 if the automation stopped itself", "automation"),
  automationEvents: counter(
    "simfleet_automation_events_total",
    "Events that an automation acted on, by outcome",
    "automation",
    "outcome",
  ),
  redisMemory: gauge("simfleet_redis_memory_bytes", "Memory that Redis uses"),
  redisMemoryLimit: gauge(
    "simfleet_redis_memory_limit_bytes",
    "Memory that Redis may use: maxmemory, or the machine's memory",
  ),
  events: gauge("simfleet_events", "Events kept in the feed"),
  configRejected: gauge(
    "simfleet_configuration_rejected",
    "1 while the changed configuration file is not valid and this worker uses the previous one",
  ),
  streams: gauge("simfleet_event_streams", "Open event streams of this worker"),
};

/** Counted in this process. */
export const gatewayCalls = counter(
  "simfleet_gateway_calls_total",
  "Calls through the gateway of this process, by caller and status; `gone`: the caller disconnected before the response",
  "caller",
  "status",
);

/** Durations of this process, as histograms. */
export const histogramCatalogue = {
  requests: {
    channel: requestTime,
    name: "simfleet_http_request_seconds",
    labels: ["method", "route", "status"],
    help: "Duration of requests to this worker, by route and status",
    buckets: [0.005, 0.02, 0.1, 0.5, 2, 10],
  },
  queueTime: {
    channel: queueTime,
    name: "simfleet_job_queue_seconds",
    labels: ["queue"],
    help: "Time from adding a job to its first start by this worker, excluding a requested delay",
    buckets: [0.01, 0.1, 1, 10, 60, 600, 3_600, 21_600],
  },
  quotaWait: {
    channel: quotaWait,
    name: "simfleet_quota_wait_seconds",
    labels: ["quota"],
    help: "Time that calls of this worker wait for quota; for a postponed call, the time until the reset is included",
    buckets: [0.001, 0.01, 0.1, 0.5, 2, 10, 60],
  },
  callTime: {
    channel: callTime,
    name: "simfleet_call_seconds",
    labels: ["endpoint", "status"],
    help: "Time from sending a call to the platform to the headers of its response, by endpoint and status",
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
  },
  gatewayWait: {
    channel: gatewayWait,
    name: "simfleet_gateway_wait_seconds",
    labels: ["caller"],
    help: "Time that the gateway of this process adds to a call before it is sent, with the wait for quota",
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.1, 0.5, 2, 10, 30],
  },
} as const;

export type MetricId = keyof typeof metricCatalogue;

export interface Reading {
  readonly metric: MetricId;
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A tenth of the default, which alone takes a quarter of what an idle worker takes. */
const eventLoopSampleMs = 100;

/** Opens the metrics of this process, and counts what it measures until `close`. */
export function openMetrics() {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: eventLoopSampleMs });
  const read = new Map<string, Gauge | Counter>();
  for (const [id, { kind, labels, ...facts }] of Object.entries(metricCatalogue)) {
    const options = { ...facts, labelNames: [...labels], registers };
    read.set(id, kind === "gauge" ? new Gauge(options) : new Counter(options));
  }
  const stops: (() => void)[] = [];
  const watch = (channel: Channel, count: (timing: Timing) => void): void => {
    const listener = (timing: unknown): void => count(timing as Timing);
    channel.subscribe(listener);
    stops.push(() => channel.unsubscribe(listener));
  };
  const { labels: counted, name, help } = gatewayCalls;
  const calls = new Counter({ name, help, labelNames: [...counted], registers });
  watch(gatewayCall, ({ labels }) => calls.inc(labels));
  for (const { channel, labels: names, buckets, ...facts } of Object.values(histogramCatalogue)) {
    const histogram = new Histogram({ ...facts, labelNames: [...names], buckets: [...buckets], registers });
    watch(channel, ({ labels, seconds }) => histogram.observe(labels, seconds));
  }
  return {
    contentType: registry.contentType,
    /** All metrics as text, those that are read with these values. */
    text(readings: readonly Reading[]): Promise<string> {
      for (const metric of read.values()) metric.reset();
      for (const { metric, labels = {}, value } of readings) read.get(metric)?.inc(labels, value);
      return registry.metrics();
    },
    close: (): void => stops.forEach((stop) => stop()),
  };
}

const quotaMetrics = ["calls", "throttled", "inFlight", "limit", "left"] as const satisfies readonly MetricId[];

type QuotaValues = Readonly<Record<(typeof quotaMetrics)[number], number | undefined>>;

export function quotaReadings(buckets: readonly (QuotaValues & { readonly bucket: string })[]): Reading[] {
  return buckets.flatMap(({ bucket: quota, ...values }) =>
    quotaMetrics.flatMap((metric) => {
      const value = values[metric];
      return value === undefined ? [] : [{ metric, labels: { quota }, value }];
    }),
  );
}
