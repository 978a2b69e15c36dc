/**
 * Selects the base address of a call (interface, sections 4, 5 rule 9 and 9), which must match the coverage of the
 * account. The configuration decides; if it does not, the verified claims of the token; if these allow several, the
 * only configured address. With two configured addresses, this is an error: there is no guessing.
 */
import { PlatformError } from "#core/errors.ts";
import type { Coverage } from "#fleet/profile.ts";
import { type Address, parseAddress } from "../http/address.ts";

/** Base addresses as configured. */
export type Endpoints = Readonly<Partial<Record<"global" | "japan", string | undefined>>>;

export type Routes = Readonly<Partial<Record<Coverage, Address>>>;

const settings = { g: "SIMFLEET_ENDPOINT_GLOBAL", jp: "SIMFLEET_ENDPOINT_JAPAN" } as const;
const names = { g: "Global", jp: "Japan" } as const;

/** @throws ConfigError for an address that has a query */
export function routesOf({ global, japan }: Endpoints): Routes {
  return {
    ...(global === undefined ? {} : { g: parseAddress(global, settings.g) }),
    ...(japan === undefined ? {} : { jp: parseAddress(japan, settings.jp) }),
  };
}

/** The address for authentication: any works (interface, section 4); the profile's own is preferred. */
export function authAddress(routes: Routes, configured: Coverage | undefined): Address {
  const address = (configured === undefined ? undefined : routes[configured]) ?? routes.g ?? routes.jp;
  if (address === undefined) throw new RangeError("no address of the platform");
  return address;
}

/**
 * The address for the calls of a profile.
 * @param claimed verified coverage types of the token; undefined if nothing is verified
 * @throws PlatformError PLATFORM_FORBIDDEN if the account lacks the configured coverage, CONFIG_INVALID if two remain
 */
export function addressFor(
  routes: Routes,
  { configured, claimed }: { configured: Coverage | undefined; claimed: readonly Coverage[] | undefined },
): Address {
  const configuredAddress = configured === undefined ? undefined : routes[configured];
  if (configured !== undefined && configuredAddress !== undefined) {
    if (claimed !== undefined && !claimed.includes(configured)) throw uncovered([configured], claimed);
    return configuredAddress;
  }
  const reachable = (["g", "jp"] as const).filter((coverage) => routes[coverage] !== undefined);
  const usable =
    claimed === undefined || claimed.length === 0 ? reachable : reachable.filter((c) => claimed.includes(c));
  if (usable.length === 0 && claimed !== undefined) throw uncovered(reachable, claimed);
  const [only, another] = usable;
  const address = only === undefined || another !== undefined ? undefined : routes[only];
  if (address !== undefined) return address;
  throw new PlatformError(
    "CONFIG_INVALID",
    "Addresses for both coverages are set, and the account may use both: set SIMFLEET_COVERAGE, or the profile's coverage, to " +
      "g (Global) or jp (Japan)",
    { operation: "auth" },
  );
}

function nameOf(coverage: Coverage): string {
  return `${coverage} (${names[coverage]})`;
}

function uncovered(wanted: readonly Coverage[], claimed: readonly Coverage[]): PlatformError {
  const has = claimed.map(nameOf).join(" and ") || "none";
  const needs = wanted.map(nameOf).join(" or ");
  return new PlatformError(
    "PLATFORM_FORBIDDEN",
    `The account's coverage is ${has} by its token, but simfleet is set to ${needs}. Correct SIMFLEET_COVERAGE and the ` +
      `address, or have the coverage enabled.`,
    { operation: "auth" },
  );
}
