/** Traces in a real worker: one trace from the upload of a file to each call, received by a collector. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
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

/** Keeps the spans that are sent to it. */
async function startCollector(): Promise<{ url: string; spans: OtlpSpan[] }> {
  const spans: OtlpSpan[] = [];
  const keep = async (request: IncomingMessage): Promise<void> => {
    const { resourceSpans } = JSON.parse(await text(request)) as OtlpRequest;
    if (request.url !== "/v1/traces") return;
    spans.push(...resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)));
  };
  const server: Server = createServer((request, response) => {
    void keep(request).finally(() => response.writeHead(200, { "content-type": "application/json" }).end("{}"));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, spans };
}

function attributesOf({ attributes }: OtlpSpan): Record<string, string | number | undefined> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue]));
}

test("a run is one trace, from the caller's request through its segments to each call", async () => {
  const collector = await startCollector();
  await using harness = await CliHarness.open({
    sims: rows,
    env: { SIMFLEET_TRACING_ENDPOINT: collector.url, SIMFLEET_LOG_LEVEL: "debug" },
  });
  const body = await harness.read(await harness.fleet("fleet.csv", rows));
  const worker = await harness.worker();
  const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
  const caller = "00f067aa0ba902b7";
  const headers = { "content-type": "text/csv", traceparent: `00-${traceId}-${caller}-01` };
  const answer = await harness.ask(worker, "/v1/runs", { method: "POST", body, headers });
  const { runId } = (await answer.json()) as { runId: string };
  await harness.untilState(runId, "completed");
  const metrics = await (await harness.ask(worker, "/metrics")).text();
  worker.kill("SIGTERM");
  expect(await worker.ended).toMatchObject({ code: 0 });

  const ofTrace = collector.spans.filter((span) => span.traceId === traceId);
  const named = (kind: keyof typeof kinds): OtlpSpan[] => ofTrace.filter((span) => span.kind === kinds[kind]);
  const [request] = named("server");
  expect(request).toMatchObject({ name: "POST /v1/runs", parentSpanId: caller });
  expect(attributesOf(request as OtlpSpan)).toMatchObject({
    "http.request.method": "POST",
    "http.route": "/v1/runs",
    "http.response.status_code": answer.status,
  });
  const [submission] = named("producer");
  expect(submission).toMatchObject({ parentSpanId: request?.spanId });
  expect(attributesOf(submission as OtlpSpan)).toMatchObject({
    "messaging.system": "bullmq",
    "simfleet.run.id": runId,
  });
  const segments = named("consumer");
  expect(segments.length).toBeGreaterThan(0);
  expect(new Set(segments.map((span) => span.parentSpanId))).toEqual(new Set([submission?.spanId]));
  const calls = named("client").filter(({ name }) => name.endsWith(" set-speed-class"));
  expect(calls).toHaveLength(rows);
  expect(new Set(calls.map((span) => span.parentSpanId))).toEqual(new Set(segments.map((span) => span.spanId)));
  expect(attributesOf(calls[0] as OtlpSpan)).toMatchObject({
    "http.response.status_code": 200,
    "server.address": "127.0.0.1",
  });
  // A line of the log names the trace that it belongs to.
  expect(worker.stderr).toContain(`"trace_id":"${traceId}"`);

  expect(metrics).toMatch(/simfleet_job_queue_seconds_count\{queue="[^"]+"\} [1-9]/);
  expect(metrics).toMatch(/simfleet_quota_wait_seconds_count\{quota="OP[^"]+\.Sim"\} 1?[2-9]/);
  expect(metrics).toContain(`simfleet_call_seconds_count{endpoint="set-speed-class",status="200"} ${rows}`);
});
