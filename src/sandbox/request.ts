/** Reads a client's request: path, query, language, headers and body, with minimal work per call. */
import type { IncomingMessage } from "node:http";
import type { Language } from "#fleet/profile.ts";
import { Refusal } from "./refusals.ts";

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
  /** Address by which the caller reaches the sandbox. */
  readonly host: string;
  readonly apiKey: string | undefined;
  readonly token: string | undefined;
}

const headerNames = {
  apiKey: "api-key",
  token: "token",
  language: "lang",
  limit: "ratelimit-limit",
  remaining: "ratelimit-remaining",
  secondsBeforeRefresh: "ratelimit-seconds-before-refresh",
  nextKey: "next-key",
};

/** The header names of a brand, in lower case, computed once. */
export type HeaderNames = Readonly<Record<keyof typeof headerNames, string>>;

export function headerNamesOf(brand: string): HeaderNames {
  const names = Object.entries(headerNames).map(([name, end]) => [name, `x-${brand.toLowerCase()}-${end}`]);
  return Object.fromEntries(names) as HeaderNames;
}

/** Calls `then` once the whole request has arrived; never if the client disconnects before. */
export function readRequest(
  request: IncomingMessage,
  names: HeaderNames,
  maxBodyBytes: number,
  then: (received: Received) => void,
): void {
  const url = request.url ?? "/";
  const mark = url.indexOf("?");
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
      language: headerOf(request, names.language) === "ja" ? "ja" : "en",
      callerIp: request.socket.remoteAddress ?? "",
      host: request.headers.host ?? "",
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
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Refusal("bodyNotJson");
  return value as Readonly<Record<string, unknown>>;
}

function headerOf(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === "string" ? value : undefined;
}
