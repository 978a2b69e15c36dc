/**
 * The log: JSON lines on stderr, since stdout is reserved for command output. Every line is scrubbed of secrets last,
 * after all other processing. Errors are logged with code and cause, so that they can be searched.
 */
import { pino, type DestinationStream, type Logger } from "pino";
import { PlatformError, SimfleetError } from "#core/errors.ts";
import { type Clock, systemClock } from "#core/time.ts";
import { prettyLine } from "./pretty.ts";
import { scrub } from "./scrub.ts";
import { tracing } from "#core/traced.ts";

export type { Logger } from "pino";

export type LogLevel = "trace" | "debug" | "info" | "warn" | "error" | "fatal" | "silent";

/** Any writable for lines, such as `process.stderr`. */
export interface LineSink {
  write(line: string): unknown;
}

export interface LoggerOptions {
  /** Default `info`. */
  readonly level?: LogLevel;
  /** Default: stderr, each line written before the call returns. */
  readonly destination?: LineSink;
  /** `lines`: human-readable text instead of JSON. */
  readonly format?: "json" | "lines";
  /** Fields added to every line, such as the process id if several processes write to one file. */
  readonly fields?: Readonly<Record<string, unknown>>;
  readonly clock?: Clock;
}

/** Creates the root logger, the parent of all others. */
export function createLogger(options: LoggerOptions = {}): Logger {
  const clock = options.clock ?? systemClock;
  const sink: LineSink = options.destination ?? pino.destination({ fd: 2, sync: true });
  const scrubbed: DestinationStream = {
    write: (line) => {
      const clean = scrub(line);
      sink.write(options.format === "lines" ? prettyLine(clean) : withVisibleControls(clean));
    },
  };
  return pino(
    {
      level: options.level ?? "info",
      base: options.fields ? { ...options.fields } : null,
      timestamp: () => `,"time":"${new Date(clock.wallMs()).toISOString()}"`,
      formatters: { level: (level) => ({ level }) },
      mixin: () => tracing()?.ids() ?? {},
      messageKey: "message",
      errorKey: "error",
      serializers: { error: describeError, err: describeError },
    },
    scrubbed,
  );
}

/** JSON leaves control characters beyond ASCII and direction marks unescaped, and a terminal would interpret them. */
function withVisibleControls(line: string): string {
  return line.replace(/[\u007F-\u009F\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => {
    const units = Array.from({ length: character.length }, (_, i) => character.charCodeAt(i));
    return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
  });
}

const mostCauses = 5;

/** An error as plain fields; the stack is included only for bugs in simfleet and unknown errors. */
function describeError(thrown: unknown, depth = 0): unknown {
  if (!(thrown instanceof Error)) return thrown;
  const { code } = thrown as { code?: unknown };
  const isExpected = thrown instanceof SimfleetError && thrown.code !== "INTERNAL";
  return {
    name: thrown.name,
    ...(code === undefined ? {} : { code }),
    message: thrown.message,
    ...(thrown instanceof PlatformError ? platformFacts(thrown) : {}),
    ...(isExpected ? {} : { stack: thrown.stack }),
    ...(thrown.cause === undefined || depth === mostCauses ? {} : { cause: describeError(thrown.cause, depth + 1) }),
  };
}

function platformFacts({ operation, status, platformCode, mayHaveApplied, retryAfterMs, bucket }: PlatformError) {
  return { operation, status, platformCode, mayHaveApplied, retryAfterMs, bucket };
}
