/**
 * What the platform says in the body of a refusal, in four shapes: flat `{code, message}` (interface, section 7),
 * nested `{httpStatus, errorMessage: {code, message}}`, an HTML or plain text page of something in between, or nothing.
 * The text is a stranger's: it is cut, control characters go, and live secrets that it echoes, in whatever encoding, are removed.
 */
import { scrubSecrets } from "#core/scrub-secrets.ts";

export interface PlatformFault {
  readonly shape: "flat" | "nested" | "html" | "text" | "none";
  /** At most 64 characters. */
  readonly code: string | undefined;
  /** In the language that was asked for; at most 300 characters. */
  readonly message: string | undefined;
}

const codeCap = 64;
const messageCap = 300;
/** Of a page only this much is looked at. */
const pageCap = 8_192;

/** Reads any body at all; never throws. */
export function readFault(text: string): PlatformFault {
  if (text.trimStart().startsWith("{")) {
    const fault = readJsonFault(text);
    if (fault !== undefined) return fault;
  }
  // Before the page is cut: half a secret is not recognized.
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

/** The title of a page, else all its words without tags. Every repetition is bounded, so hostile pages cost nothing. */
function titleOf(page: string): string {
  const title = /<title[^>]{0,200}>([^<]{1,1000})/i.exec(page)?.[1];
  return title ?? page.replace(/<[^>]{0,500}>?/g, " ");
}

/** One line of visible text without live secrets, or undefined where nothing is left. */
function plain(value: unknown, cap: number): string | undefined {
  if (typeof value !== "string" && typeof value !== "number") return undefined;
  // Before it is cut and its control characters go: an encoded secret would no longer be recognized.
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
