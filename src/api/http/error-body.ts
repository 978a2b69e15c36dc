/**
 * Parses the error in a response body, which has one of four shapes: flat `{code, message}` (interface, section 7),
 * nested `{httpStatus, errorMessage: {code, message}}`, an HTML or plain text page of an intermediary, or empty. The
 * text is untrusted: it is truncated, and control characters and live secrets that it echoes, in any encoding, are
 * removed.
 */
import { scrubSecrets } from "#core/scrub-secrets.ts";

export interface PlatformFault {
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
  if (start.startsWith("<")) return { shape: "html", code: undefined, message: plain(titleOf(start), messageCap) };
  return { shape: "text", code: undefined, message: plain(start, messageCap) };
}

function readJsonFault(text: string): PlatformFault | undefined {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isRecord(body)) return undefined;
  const nested = body["errorMessage"];
  const shape = isRecord(nested) ? "nested" : "flat";
  const fields = isRecord(nested) ? nested : body;
  return {
    shape,
    code: plain(fields["code"], codeCap),
    message: plain(fields["message"], messageCap),
  };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * The title of a page, or all its words without tags. Every repetition is bounded, so hostile pages cannot cause
 * backtracking.
 */
function titleOf(page: string): string {
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
