/**
 * Spans of traces. Code that makes spans knows only this file: OpenTelemetry is loaded if tracing is configured
 * (tracing.ts), and without it the work runs as it is.
 */
export type SpanKind = "server" | "producer" | "consumer" | "client";

export interface SpanStart {
  readonly name: string;
  readonly kind: SpanKind;
  /** Names of OpenTelemetry's semantic conventions. */
  readonly attributes: Readonly<Record<string, string | number>>;
  /** The span that this one continues, as a W3C `traceparent`; without it, the current one. */
  readonly parent?: string | undefined;
}

export interface OpenSpan {
  /** Runs work in which this is the current span. */
  run<T>(work: () => T): T;
  set(attributes: Readonly<Record<string, string | number>>): void;
  /** Marks the span as failed. @param error a text is the type of the error */
  fail(error: unknown): void;
  end(): void;
}

export interface Tracing {
  begin(start: SpanStart): OpenSpan;
  /** The current span as a W3C `traceparent`; undefined if there is none. */
  parent(): string | undefined;
  /** Fields for a log line: `trace_id` and `span_id`, if there is a current span. */
  ids(): Readonly<Record<string, string>>;
}

let current: Tracing | undefined;

/** Undefined unless tracing is configured. */
export function tracing(): Tracing | undefined {
  return current;
}

export function setTracing(next: Tracing | undefined): void {
  current = next;
}

/** Runs work as a span; `start` is called only if tracing is on. */
export async function traced<T>(
  start: () => SpanStart | Promise<SpanStart>,
  work: (span?: OpenSpan) => Promise<T>,
): Promise<T> {
  if (current === undefined) return work();
  const span = current.begin(await start());
  try {
    return await span.run(() => work(span));
  } catch (thrown) {
    span.fail(thrown);
    throw thrown;
  } finally {
    span.end();
  }
}
