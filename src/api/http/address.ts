/**
 * Base address of the API (section 4), with the name of the setting that configures it. The configuration takes only
 * https, or http to this machine, without a user name.
 */
import { ConfigError } from "#core/errors.ts";

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
 * @throws ConfigError if it has a query
 */
export function parseAddress(text: string, setting: string): Address {
  const { origin, pathname, host, search } = new URL(text);
  if (search !== "") throw new ConfigError([{ where: setting, message: "has a query; give the address alone" }]);
  return { origin, prefix: pathname.replace(/\/+$/, ""), host, setting };
}

/** Parses the address of one document; keeps its query. */
export function parseDocumentUrl(text: string, setting: string): { address: Address; path: string } {
  const { origin, pathname, host, search } = new URL(text);
  return { address: { origin, prefix: "", host, setting }, path: pathname + search };
}
