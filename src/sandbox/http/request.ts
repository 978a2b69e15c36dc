/** Reads a client's request: path, query, language, headers and body, with minimal work per call. */
import type { IncomingMessage } from "node:http";
import type { Language } from "#fleet/profile.ts";
import { Refusal } from "../refusals.ts";

/** The header names of a brand, in lower case, computed once. */
export interface HeaderNames {
  readonly apiKey: string;
  readonly token: string;
  readonly language: string;
  readonly limit: string;
  readonly remaining: string;
  readonly secondsBeforeRefresh: string;
  readonly nextKey: string;
}

export interface Received {
  readonly method: string;
  readonly path: string;
  /** Without the question mark. */
  readonly queryText: string;
  readonly bodyText: string;
  readonly isTooLarge: boolean;
  readonly contentType: string | undefined;
  readonly language: Language;
  readonly callerIp: string;
  readonly apiKey: string | undefined;
  readonly token: string | undefined;
}

export function headerNamesOf(brand: string): HeaderNames {
  const word = brand.toLowerCase();
  return {
    apiKey: `x-${word}-api-key`,
    token: `x-${word}-token`,
    language: `x-${word}-lang`,
    limit: `x-${word}-ratelimit-limit`,
    remaining: `x-${word}-ratelimit-remaining`,
    secondsBeforeRefresh: `x-${word}-ratelimit-seconds-before-refresh`,
    nextKey: `x-${word}-next-key`,
  };
}

export interface ReadingRules {
  readonly names: HeaderNames;
  readonly maxBodyBytes: number;
  readonly language: Language;
}

/** Calls `then` once the whole request has arrived; never if the client disconnects before. */
export function readRequest(request: IncomingMessage, rules: ReadingRules, then: (received: Received) => void): void {
  const { names, maxBodyBytes } = rules;
  const url = request.url ?? "/";
  const mark = url.indexOf("?");
  const asked = headerOf(request, names.language);
  let bodyText = "";
  let bytes = 0;
  request.setEncoding("utf8");
  request.on("data", (chunk: string) => {
    bytes += Buffer.byteLength(chunk);
    if (bytes <= maxBodyBytes) bodyText += chunk;
  });
  request.on("end", () =>
    then({
      method: request.method ?? "",
      path: mark < 0 ? url : url.slice(0, mark),
      queryText: mark < 0 ? "" : url.slice(mark + 1),
      bodyText,
      isTooLarge: bytes > maxBodyBytes,
      contentType: request.headers["content-type"],
      language: asked === "ja" || asked === "en" ? asked : rules.language,
      callerIp: request.socket.remoteAddress ?? "",
      apiKey: headerOf(request, names.apiKey),
      token: headerOf(request, names.token),
    }),
  );
}

/** The body as JSON. @throws Refusal if it is not JSON, is too large, or does not have the JSON content type */
export function bodyJson({ bodyText, contentType, isTooLarge }: Received): unknown {
  if (isTooLarge) throw new Refusal("bodyTooLarge");
  if (bodyText !== "" && !/^application\/json\b/i.test(contentType ?? "")) throw new Refusal("bodyTypeWrong");
  try {
    return JSON.parse(bodyText);
  } catch {
    throw new Refusal("bodyNotJson");
  }
}

/** The body as a JSON object. @throws Refusal if it is not one */
export function bodyObject(received: Received): Readonly<Record<string, unknown>> {
  const value = bodyJson(received);
  if (!isObject(value)) throw new Refusal("bodyNotJson");
  return value;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function headerOf(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === "string" ? value : undefined;
}
