/**
 * Traces with OpenTelemetry, sent as OTLP over HTTP. Only a process with `tracing.endpoint` loads this file. Spans
 * follow the semantic conventions for HTTP and messaging.
 */
import { context, propagation, ROOT_CONTEXT, type Span, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { version } from "#core/version.ts";
import { scrubSecrets } from "#core/secrets/scrub-secrets.ts";
import { messageOf, SimfleetError } from "#core/errors.ts";
import { type OpenSpan, setTracing } from "#core/traced.ts";

export interface TracingOptions {
  /** Base address of the collector; `/v1/traces` is added. */
  readonly endpoint: string;
  /** Share of traces that are recorded, 0 to 1. */
  readonly ratio: number;
  /** `service.instance.id`: which process it is. */
  readonly instance: string;
}

/**
 * Starts tracing in this process.
 * @returns what sends the remaining spans and ends tracing
 */
export function startTracing({ endpoint, ratio, instance }: TracingOptions): () => Promise<void> {
  const exporter = new OTLPTraceExporter({ url: `${endpoint.replace(/\/$/, "")}/v1/traces` });
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      "service.name": "simfleet",
      "service.version": version,
      "service.instance.id": instance,
    }),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) }),
    spanProcessors: [new BatchSpanProcessor({ exporter })],
  });
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const propagator = new W3CTraceContextPropagator();
  propagation.setGlobalPropagator(propagator);
  const tracer = provider.getTracer("simfleet", version);
  setTracing({
    begin: ({ name, kind, attributes, parent }) => {
      const around =
        parent === undefined ? context.active() : propagation.extract(ROOT_CONTEXT, { traceparent: parent });
      const named = kind.toUpperCase() as Uppercase<typeof kind>;
      return opened(tracer.startSpan(name, { kind: SpanKind[named], attributes }, around));
    },
    parent: () => {
      const carrier: { traceparent?: string } = {};
      propagation.inject(context.active(), carrier);
      return carrier.traceparent;
    },
    ids: () => {
      const span = trace.getActiveSpan()?.spanContext();
      return span === undefined ? {} : { trace_id: span.traceId, span_id: span.spanId };
    },
  });
  return async () => {
    setTracing(undefined);
    await provider.shutdown();
    context.disable();
    propagation.disable();
  };
}

function opened(span: Span): OpenSpan {
  return {
    run: (work) => context.with(trace.setSpan(context.active(), span), work),
    set: (attributes) => void span.setAttributes(attributes),
    fail: (error) => {
      span.setAttribute("error.type", toErrorType(error));
      const message = typeof error === "string" ? error : messageOf(error);
      span.setStatus({ code: SpanStatusCode.ERROR, message: scrubSecrets(message) });
    },
    end: () => span.end(),
  };
}

function toErrorType(error: unknown): string {
  if (typeof error === "string") return error;
  return error instanceof SimfleetError ? error.code : "_OTHER";
}
