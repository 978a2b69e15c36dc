/**
 * The log: JSON lines on stderr, since stdout is reserved for command output. Every line is scrubbed of secrets last,
 * after all other processing. Errors are logged with code and cause, so that they can be searched.
 */
import { pino, type DestinationStream, type LevelWithSilent, type Logger } from "pino";
import { PlatformError, SimfleetError } from "#core/errors.ts";
import { isPlainObject, jsonIn } from "#core/json.ts";
import { type Clock, systemClock } from "#core/time.ts";
import { tracing } from "#core/traced.ts";
import { visible } from "#core/visible-text.ts";
import { scrubSecrets } from "#core/secrets/scrub-secrets.ts";

export type { Logger } from "pino";

export interface LoggerOptions {
  /** Default `info`. */
  readonly level?: LevelWithSilent;
  /** Any writable for lines, by default `process.stderr`: each line is written before the call returns. */
  readonly destination?: { write(line: string): unknown };
  /** `lines`: human-readable text instead of JSON. */
  readonly format?: "json" | "lines";
  readonly clock?: Clock;
}

/** Creates the root logger, the parent of all others. */
export function createLogger({ level = "info", destination, format, clock = systemClock }: LoggerOptions): Logger {
  const sink = destination ?? pino.destination({ fd: 2, sync: true });
  const scrubbed: DestinationStream = {
    write: (line) => {
      const clean = scrub(line);
      sink.write(format === "lines" ? prettyLine(clean) : withVisibleControls(clean));
    },
  };
  return pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${new Date(clock.wallMs()).toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
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

const maxCauses = 5;

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
    ...(thrown.cause === undefined || depth === maxCauses ? {} : { cause: describeError(thrown.cause, depth + 1) }),
  };
}

function platformFacts({ operation, status, platformCode, mayHaveApplied, retryAfterMs, bucket }: PlatformError) {
  return { operation, status, platformCode, mayHaveApplied, retryAfterMs, bucket };
}

/**
 * Formats one JSON log line for people: `12:34:56.789 WARN message key=value`, without escape codes, so that it is safe
 * for any output. A line that is not a JSON object is passed through unchanged.
 */
function prettyLine(line: string): string {
  const fields = jsonIn(line);
  if (!isPlainObject(fields)) return line;
  const { level, time, message, error, ...rest } = fields;
  const shownTime = typeof time === "string" ? time.slice(11, 23) : "";
  const shownLevel = (typeof level === "string" ? level : "").toUpperCase().padEnd(5);
  const pairs = Object.entries(rest).map(([key, value]) => `${plain(key)}=${plain(value)}`);
  const head = [shownTime, shownLevel, plain(message ?? ""), ...pairs].filter((part) => part !== "").join(" ");
  return `${head}${error === undefined ? "" : errorLines(error)}\n`;
}

/** Untrusted text can neither control a terminal nor imitate a log line. */
function plain(value: unknown): string {
  return visible(typeof value === "string" ? value : (JSON.stringify(value) ?? ""));
}

function errorLines(error: unknown): string {
  if (typeof error !== "object" || error === null) return `\n    ${plain(error)}`;
  const { name, code, message, stack, cause } = error as Record<string, unknown>;
  const title = `${plain(name ?? "Error")}${code === undefined ? "" : ` [${plain(code)}]`}: ${String(message)}`;
  const text = typeof stack === "string" ? stack : title;
  const shown = text.split("\n").map((line) => `\n    ${plain(line)}`);
  return `${shown.join("")}${cause === undefined ? "" : errorLines(cause)}`;
}

// Removes secrets from a log line: the live ones in all their forms (`core/secrets/scrub-secrets`), and unknown values
// in the position of a secret (token headers, passwords in URLs, strings shaped like tokens). It processes the finished
// line, since redacting named fields would miss secrets inside messages. The shape patterns apply to the log only: in
// command output or a response, a cell `token=abc` is data. Running time is linear in the line, so every repetition
// below is bounded or cannot restart within the text it has consumed.

const replacement = "[secret]";

/** Returns the line without known secrets and anything shaped like one. */
export function scrub(line: string): string {
  return scrubShapes(scrubSecrets(line));
}

/** A quote as it appears in JSON, even if the JSON was nested in JSON several times. */
const quote = String.raw`\\{0,31}"`;
/** Patterns of secrets: the group of each stays, and what follows it is replaced. */
const shapes = [
  // JSON: "X-Svc-Token":"…", "authKey":"…"
  new RegExp(
    `((?<=")(?:x-[a-z0-9-]{1,64}-(?:api-key|token)|authorization|api-?key|auth-?key|token|password|mfaOTPCode|mfaSecret|adminToken|secret)${quote}\\s*:\\s*${quote})(?!\\[secret\\])(?:[^"\\\\]|\\\\+(?!["\\\\]))+`,
    "gi",
  ),
  // Headers as text: X-Svc-Token: …, Authorization: Bearer …
  /(?<=\bx-[a-z0-9-]{1,64})(-(?:api-key|token)\s*[:=]\s*)(?!\[secret\])[^\s"'\\,;]+/gi,
  /\b(authorization\s*[:=]\s*(?:(?:bearer|basic)\s+)?)(?!\[secret\])[^\s"'\\,;]+/gi,
  /\b(bearer\s+)[A-Za-z0-9._~+/=-]{16,}/gi,
  // Queries and forms: authKey=…, password=…
  /\b((?:authKey|apiKey|token|password|mfaOTPCode|secret)=)(?!\[secret\])[^\s"'\\&]+/gi,
  // A password in an address
  /(?<=[a-z0-9+.-])(:\/\/[^\s"'/@:]*:)(?!\[secret\])[^\s"'/@]+(?=@)/gi,
];

function scrubShapes(line: string): string {
  const clean = line.replace(dottedWords, withoutWebTokens);
  return shapes.reduce((text, shape) => text.replace(shape, `$1${replacement}`), clean);
}

/** Ranges that may contain a JSON Web Token; each is read once. */
const dottedWords = /[A-Za-z0-9_.-]+/g;

/** Redacts JSON Web Tokens: a part that starts with `eyJ`, or has a hyphen before it, and the two parts after it. */
function withoutWebTokens(words: string): string {
  if (!words.includes("eyJ")) return words;
  const parts = words.split(".");
  const clean: string[] = [];
  for (let i = 0; i < parts.length; i += 1) {
    const part = parts[i] ?? "";
    const at = /(?:^|-)eyJ[A-Za-z0-9_-]{5}/.exec(part)?.index;
    if (at === undefined || (parts[i + 1]?.length ?? 0) < 5) {
      clean.push(part);
      continue;
    }
    clean.push(`${part.slice(0, at === 0 ? 0 : at + 1)}${replacement}`);
    i += 2;
  }
  return clean.join(".");
}
