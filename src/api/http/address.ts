/** Base address of the API (section 4), validated once, with the name of the setting that configures it. */
import { ConfigError } from "#core/errors.ts";
import { isLoopback } from "#core/loopback.ts";

export interface Address {
  /** Scheme, host and port, in the form the transport expects. */
  readonly origin: string;
  /** Path before `/v1`, usually empty; no trailing slash. */
  readonly prefix: string;
  /** Host and port, for messages. */
  readonly host: string;
  /** The variable that sets this address, for messages. */
  readonly setting: string;
}

/**
 * Parses a base address.
 * @param setting name of the variable that holds it
 * @throws ConfigError if it is not a URL, is plain HTTP to a remote machine, or contains a user name, query or
 *   fragment
 */
export function parseAddress(text: string, setting: string): Address {
  const url = parseUrl(text, setting);
  if (url.search !== "" || url.hash !== "") throw faulty(setting, "has a query or fragment; give the address alone");
  return { origin: url.origin, prefix: url.pathname.replace(/\/+$/, ""), host: url.host, setting };
}

/**
 * Parses the address of one document; keeps its query.
 * @throws ConfigError as `parseAddress`
 */
export function parseDocumentUrl(text: string, setting: string): { address: Address; path: string } {
  const url = parseUrl(text, setting);
  return {
    address: { origin: url.origin, prefix: "", host: url.host, setting },
    path: url.pathname + url.search,
  };
}

function parseUrl(text: string, setting: string): URL {
  const url = URL.parse(text);
  if (url === null) throw faulty(setting, "is not a URL; write it like https://api.example.com");
  if (url.username !== "" || url.password !== "") {
    throw faulty(setting, "carries a user name or password; credentials have settings of their own");
  }
  if (url.protocol === "http:" && !isLoopback(url.hostname)) {
    throw faulty(setting, `is plain HTTP to ${url.hostname}, which shows the credentials to the network; use https`);
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw faulty(setting, `has the scheme ${url.protocol} where https: is needed`);
  }
  return url;
}

function faulty(where: string, message: string): ConfigError {
  return new ConfigError([{ where, message }]);
}
