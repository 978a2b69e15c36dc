/** Names of the headers that carry the brand of a deployment (interface, head: `X-Svc-…` represents any brand). */
import { ConfigError } from "#core/errors.ts";

export interface HeaderNames {
  readonly apiKey: string;
  readonly token: string;
  readonly language: string;
  /** The names below are response headers, which the transport lowercases. */
  readonly limit: string;
  readonly remaining: string;
  readonly refresh: string;
  readonly nextKey: string;
}

/** @throws ConfigError if the word cannot be part of a header name */
export function headerNames(brand: string): HeaderNames {
  if (!/^[A-Za-z0-9](?:[A-Za-z0-9-]{0,38}[A-Za-z0-9])?$/.test(brand)) {
    const message = "must be 1 to 40 letters, digits and hyphens, as in X-Svc-Token";
    throw new ConfigError([{ where: "SIMFLEET_BRAND", message }]);
  }
  const lower = brand.toLowerCase();
  return {
    apiKey: `X-${brand}-API-Key`,
    token: `X-${brand}-Token`,
    language: `X-${brand}-Lang`,
    limit: `x-${lower}-ratelimit-limit`,
    remaining: `x-${lower}-ratelimit-remaining`,
    refresh: `x-${lower}-ratelimit-seconds-before-refresh`,
    nextKey: `x-${lower}-next-key`,
  };
}
