/**
 * Which headers pass the gateway: all but those of one connection, those that carry credentials, and those that would
 * change what was checked here.
 */
import type { IncomingHttpHeaders } from "node:http";

/** Headers of one connection (RFC 9110, section 7.6.1), and headers that are set again for the next one. */
const ofConnection = new Set([
  "connection",
  "expect",
  "host",
  "http2-settings",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** For the gateway itself, or for a pair: the gateway adds its own. */
const ofCredentials = /^(?:authorization|cookie|set-cookie|x-simfleet-.*|x-(?:.*-)?(?:api-key|token))$/;

/** Some servers take the method from them: a GET could then pass a freeze. */
const ofMethod = /^x-(?:http-)?method(?:-override)?$/;

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** Headers of a request to the platform: name, value, name, value. @param headers in the form of `headersDistinct` */
export function requestHeaders(headers: Readonly<NodeJS.Dict<string[]>>): string[] {
  return Object.entries(headers).flatMap(([name, values = []]) => {
    // Secrets are looked for in errors as they are, not compressed.
    if (endsHere(name, headers) || ofMethod.test(name) || name === "accept-encoding") return [];
    return values.flatMap((value) => [name, value]);
  });
}

/**
 * The headers of the platform's response for the caller, as node:http can write them: with the bytes that came.
 * @param changed what becomes of each value
 */
export function answerHeaders(
  headers: Headers,
  changed = (value: string): string => value,
): Record<string, string | string[]> {
  const written = (value: string): string => asBytes(changed(value));
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]): [string, string | string[]][] =>
      value === undefined || endsHere(name, headers)
        ? []
        : [[name, typeof value === "string" ? written(value) : value.map(written)]],
    ),
  );
}

/** A Connection header names further headers that end with the connection. */
function endsHere(name: string, { connection = [] }: Headers): boolean {
  const named = [connection].flat().flatMap((value) => value.toLowerCase().split(/[\s,]+/));
  return ofConnection.has(name) || ofCredentials.test(name) || named.includes(name);
}

export function pairHeaders(headers: IncomingHttpHeaders, brand: string) {
  const named = (name: string): string | undefined => [headers[`x-${brand.toLowerCase()}-${name}`]].flat()[0];
  return { apiKey: named("api-key"), token: named("token") };
}

/** A character for each byte: the text was decoded as UTF-8, and is written as Latin-1. */
function asBytes(value: string): string {
  return /^[\t\x20-\x7e]*$/.test(value) ? value : Buffer.from(value).toString("latin1");
}

/** A browser says where a page's request comes from. @returns whether it comes from another site */
export function isCrossSite({ origin, host, ...headers }: IncomingHttpHeaders): boolean {
  const site = headers["sec-fetch-site"];
  if (site !== undefined && site !== "none" && site !== "same-origin") return true;
  return origin !== undefined && URL.parse(origin)?.host !== host?.toLowerCase();
}
