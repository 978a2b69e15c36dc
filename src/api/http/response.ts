/**
 * Turns one response (status, headers, body) into a value or a PlatformError; no I/O, no policy. The interface does not
 * list the platform's statuses (section 7), so they are interpreted by class.
 */
import { isPlainObject, jsonIn } from "#core/json.ts";
import { lostText } from "./transport-failure.ts";
import { PlatformError } from "#core/errors.ts";
import type { Operation } from "../operations/operation.ts";
import { type AnswerHeaders, headerOf } from "./headers.ts";
import { scrubSecrets } from "#core/secrets/scrub-secrets.ts";

export interface Answer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: AnswerHeaders;
  readonly body: Buffer;
}

/** A response with its context. */
export interface PlacedAnswer extends Answer {
  readonly bucket: string;
  /** The host that responded, for messages. */
  readonly host: string;
  /** For a 429: how long the bucket stays empty. */
  readonly rateLimitedMs: number;
  /** Delay requested by the Retry-After header. */
  readonly retryAfterMs: number | undefined;
}

/**
 * Returns the value of a success.
 * @throws PlatformError with the code that matches the status; for a write whose success cannot be parsed,
 *   `mayHaveApplied` is true
 */
export function readAnswer<I, O>(operation: Operation<I, O>, answer: PlacedAnswer): O {
  if (!operation.successStatuses.includes(answer.status)) throw refusal(operation, answer);
  const body = operation.answer === "status" ? undefined : parseBody(operation, answer);
  const parsed = operation.output.safeParse(body);
  if (parsed.success) return parsed.data;
  const fields = parsed.error.issues
    .slice(0, 3)
    .map((issue) => (issue.path.length > 0 ? issue.path.join(".") : "body"));
  throw new PlatformError(
    "PLATFORM_RESPONSE_INVALID",
    `${operation.id}: ${answer.host} returned ${answer.status} in an unexpected shape (at ${fields.join(", ")}). ` +
      `Check the address and the platform definition.`,
    { operation: operation.id, status: answer.status, mayHaveApplied: isWrite(operation) },
  );
}

/** @throws PlatformError: a truncated body is a lost response; any other non-JSON body is not from the platform */
function parseBody<I, O>(operation: Operation<I, O>, { status, host, body }: PlacedAnswer): unknown {
  const text = body.toString("utf8");
  const value = jsonIn(text);
  if (value !== undefined) return value;
  const facts = { operation: operation.id, status, mayHaveApplied: isWrite(operation) };
  const start = text.trimStart()[0];
  if (start === undefined || '{["'.includes(start)) {
    const message = `${operation.id}: the response of ${host} (${status}) was truncated${lostText(operation.method)}`;
    throw new PlatformError("PLATFORM_UNAVAILABLE", message, facts);
  }
  const page = start === "<" ? " a web page" : " something";
  const message = `${operation.id}: ${host} returned ${status} with${page} that is not JSON. Check the address.`;
  throw new PlatformError("PLATFORM_RESPONSE_INVALID", message, facts);
}

function isWrite(operation: Pick<Operation<never, unknown>, "method">): boolean {
  return operation.method !== "GET";
}

function refusal<I, O>(operation: Operation<I, O>, answer: PlacedAnswer): PlatformError {
  const { status, host, retryAfterMs } = answer;
  const fault = readFault(answer.body.toString("utf8"));
  const said = describeFault(status, fault);
  const error = (
    code: ConstructorParameters<typeof PlatformError>[0],
    message: string,
    facts: Partial<ConstructorParameters<typeof PlatformError>[2]> = {},
  ): PlatformError => {
    const { id } = operation;
    return new PlatformError(code, `${id}: ${message}`, { operation: id, status, platformCode: fault.code, ...facts });
  };
  if (status === 429) {
    const { bucket, rateLimitedMs } = answer;
    const message = `the quota of ${bucket} is used up; calls resume in ${Math.ceil(rateLimitedMs / 1_000)} s.`;
    return error("PLATFORM_RATE_LIMITED", message, { retryAfterMs: rateLimitedMs, bucket });
  }
  if (status >= 500 || status === 408 || status === 425) {
    const facts = { mayHaveApplied: status >= 500, retryAfterMs };
    return error("PLATFORM_UNAVAILABLE", `${host} could not serve the call (${said}).`, facts);
  }
  if (status < 400) {
    const place = status >= 300 && headerOf(answer.headers, "location") !== undefined ? " with a redirect" : "";
    const message = `${host} returned ${status}${place}, which the interface does not have and which is not followed. Check the address.`;
    return error("PLATFORM_RESPONSE_INVALID", message, { mayHaveApplied: status < 300 && isWrite(operation) });
  }
  const isPlatformSpeaking = fault.shape === "flat" || fault.shape === "nested";
  if (!operation.authenticated && (status === 404 || status === 405) && !isPlatformSpeaking) {
    return error("PLATFORM_RESPONSE_INVALID", `the address does not support this call (${said}). Check the address.`);
  }
  if (status === 401 || !operation.authenticated) return error("PLATFORM_UNAUTHORIZED", `not authorized (${said}).`);
  return status === 403
    ? error("PLATFORM_FORBIDDEN", `not permitted (${said}). Give the account or sub-user this permission.`)
    : error("PLATFORM_REJECTED", `rejected (${said}).`);
}

/** `400 SEM0016: the text`, as far as its parts are present. */
function describeFault(status: number, fault: PlatformFault): string {
  const code = fault.code === undefined ? "" : ` ${fault.code}`;
  const message = fault.message?.replace(/[.。]$/, "");
  return message === undefined ? `${status}${code}` : `${status}${code}: ${message}`;
}

// Parses the error in a response body, which has one of four shapes: flat `{code, message}` (interface, section 7),
// nested `{httpStatus, errorMessage: {code, message}}`, an HTML or plain text page of an intermediary, or empty. The
// text is untrusted: it is truncated, and control characters and live secrets that it echoes, in any encoding, are
// removed.

interface PlatformFault {
  readonly shape: "flat" | "nested" | "html" | "text" | "none";
  /** At most 64 characters. */
  readonly code: string | undefined;
  /** In the requested language; at most 300 characters. */
  readonly message: string | undefined;
}

const codeCap = 64;
const messageCap = 300;
/** Only this much of a page is read. */
const pageCap = 8_192;

/** Accepts any body; never throws. */
export function readFault(text: string): PlatformFault {
  if (text.trimStart().startsWith("{")) {
    const fault = readJsonFault(text);
    if (fault !== undefined) return fault;
  }
  // Before truncating the page: half a secret would not be recognized.
  const start = scrubSecrets(text).slice(0, pageCap).trimStart();
  if (start === "") return { shape: "none", code: undefined, message: undefined };
  if (start.startsWith("<")) return { shape: "html", code: undefined, message: plain(findTitle(start), messageCap) };
  return { shape: "text", code: undefined, message: plain(start, messageCap) };
}

function readJsonFault(text: string): PlatformFault | undefined {
  const body = jsonIn(text);
  if (!isPlainObject(body)) return undefined;
  const nested = body["errorMessage"];
  const shape = isPlainObject(nested) ? "nested" : "flat";
  const fields = isPlainObject(nested) ? nested : body;
  return {
    shape,
    code: plain(fields["code"], codeCap),
    message: plain(fields["message"], messageCap),
  };
}

/** The title of a page, or all its words without tags. Repetitions are bounded: no hostile page causes backtracking. */
function findTitle(page: string): string {
  const title = /<title[^>]{0,200}>([^<]{1,1000})/i.exec(page)?.[1];
  return title ?? page.replace(/<[^>]{0,500}>?/g, " ");
}

/** One line of visible text without live secrets, or undefined if nothing is left. */
function plain(value: unknown, cap: number): string | undefined {
  if (typeof value !== "string" && typeof value !== "number") return undefined;
  // Before truncating and removing control characters: an encoded secret would not be recognized afterward.
  const line = scrubSecrets(String(value))
    .slice(0, pageCap)
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ")
    .replace(/ {2,}/g, " ")
    .trim();
  if (line === "") return undefined;
  return line.length <= cap
    ? line.toWellFormed()
    : `${line.slice(0, cap - 1).replace(/[\ud800-\udbff]$/, "")}…`.toWellFormed();
}
