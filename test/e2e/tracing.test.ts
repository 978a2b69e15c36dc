/** Traces in a real worker: one trace from the upload of a file to each call, received by a collector. */
import { beforeAll, describe, expect, test } from "vitest";
import { answer, type Platform, startPlatform } from "../unit/api/support.ts";
import { CliHarness } from "./support/cli-harness.ts";

const rows = 12;

interface Attribute {
  readonly key: string;
  readonly value: { readonly stringValue?: string; readonly intValue?: number };
}

/** A span in the JSON form of OTLP. */
interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly attributes: readonly Attribute[];
}

interface OtlpRequest {
  readonly resourceSpans: readonly { readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[] }[];
}

const kinds = { server: 2, client: 3, producer: 4, consumer: 5 };

/** The spans that were sent to a collector. */
function spansAt({ seen }: Platform): OtlpSpan[] {
  const requests = seen.filter(({ path }) => path === "/v1/traces").map(({ body }) => JSON.parse(body) as OtlpRequest);
  return requests
    .flatMap(({ resourceSpans }) => resourceSpans)
    .flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans));
}

function attributesOf(span: OtlpSpan | undefined): Record<string, string | number | undefined> {
  const { attributes = [] } = span ?? {};
  return Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue]));
}

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const caller = "00f067aa0ba902b7";

/** A run that a traced caller has started: its spans of each kind, the metrics, and the log of its worker. */
async function setup() {
  await using collector = await startPlatform((_, response) => answer(response, 200, {}));
  const env = { SIMFLEET_TRACING_ENDPOINT: collector.url, SIMFLEET_LOG_LEVEL: "debug" };
  await using harness = await CliHarness.open({ sims: rows, rows, env });
  const worker = await harness.worker();
  const headers = { "content-type": "text/csv", traceparent: `00-${traceId}-${caller}-01` };
  const body = await harness.read("fleet.csv");
  const response = await harness.ask(worker, "/v1/runs", { method: "POST", body, headers });
  const { runId } = (await response.json()) as { runId: string };
  await harness.untilState(runId, "completed");
  const metrics = await (await harness.ask(worker, "/metrics")).text();
  expect(await worker.end()).toMatchObject({ code: 0 });
  const ofTrace = spansAt(collector).filter((span) => span.traceId === traceId);
  const of = (kind: number): OtlpSpan[] => ofTrace.filter((span) => span.kind === kind);
  const [request, submission] = [...of(kinds.server), ...of(kinds.producer)];
  const calls = of(kinds.client).filter(({ name }) => name.endsWith(" set-speed-class"));
  return { runId, request, submission, segments: of(kinds.consumer), calls, metrics, log: worker.stderr };
}

describe("the trace of a run", () => {
  let run: Awaited<ReturnType<typeof setup>>;
  beforeAll(async () => {
    run = await setup();
  });

  test("a run is one trace, from the caller's request through its segments to each call", () => {
    const { request, submission, segments, calls } = run;
    expect(request).toMatchObject({ name: "POST /v1/runs", parentSpanId: caller });
    expect(submission).toMatchObject({ kind: kinds.producer, parentSpanId: request?.spanId });
    expect(segments.length).toBeGreaterThan(0);
    expect(new Set(segments.map((span) => span.parentSpanId))).toEqual(new Set([submission?.spanId]));
    expect(calls).toHaveLength(rows);
    expect(new Set(calls.map((span) => span.parentSpanId))).toEqual(new Set(segments.map((span) => span.spanId)));
  });

  test("the spans of a run say what was asked, submitted and called", () => {
    const http = { "http.request.method": "POST", "http.route": "/v1/runs", "http.response.status_code": 202 };
    expect(attributesOf(run.request)).toMatchObject(http);
    const submitted = { "messaging.system": "bullmq", "simfleet.run.id": run.runId };
    expect(attributesOf(run.submission)).toMatchObject(submitted);
    const called = { "http.response.status_code": 200, "server.address": "127.0.0.1" };
    expect(attributesOf(run.calls[0])).toMatchObject(called);
  });

  test("a line of the log names the trace that it belongs to, and metrics count what was traced", () => {
    const { log, metrics } = run;
    expect(log).toContain(`"trace_id":"${traceId}"`);
    expect(metrics).toMatch(/simfleet_job_queue_seconds_count\{queue="[^"]+"\} [1-9]/);
    expect(metrics).toMatch(/simfleet_quota_wait_seconds_count\{quota="OP[^"]+\.Sim"\} 1?[2-9]/);
    expect(metrics).toContain(`simfleet_call_seconds_count{endpoint="set-speed-class",status="200"} ${rows}`);
  });
});
