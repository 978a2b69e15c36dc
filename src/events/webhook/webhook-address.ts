/**
 * Restricts the addresses that webhooks may connect to. Otherwise anyone who can configure a webhook could reach
 * services in the network: a metadata service, a database, this machine. The check uses the numeric address, never its
 * text; for a host name, that of the very DNS answer connected to, so another one a moment later has no effect.
 */
import { lookup as systemLookup } from "node:dns";
import { BlockList, isIP, type LookupFunction } from "node:net";
import { isLoopback } from "#core/loopback.ts";

/** `public`: the internet, and this machine if the URL names it explicitly. `anywhere`: private networks as well. */
export type Reach = "public" | "anywhere";

/** Networks that are not public, each with its purpose (registries of IANA, RFC 6890). */
const closed: Readonly<Record<string, string>> = {
  "0.0.0.0/8": "of no network",
  "10.0.0.0/8": "private",
  "100.64.0.0/10": "shared by a carrier's customers",
  "127.0.0.0/8": "this machine",
  "168.63.129.16/32": "a cloud's metadata service",
  "169.254.0.0/16": "link-local, where metadata services are",
  "172.16.0.0/12": "private",
  "192.0.0.0/24": "reserved",
  "192.0.2.0/24": "for documentation",
  "192.88.99.0/24": "reserved",
  "192.168.0.0/16": "private",
  "198.18.0.0/15": "for measurements",
  "198.51.100.0/24": "for documentation",
  "203.0.113.0/24": "for documentation",
  "224.0.0.0/4": "multicast",
  "240.0.0.0/4": "reserved",
  "::1/128": "this machine",
  // All outside of 2000::/3: mapped, translated, unique-local and other ranges; and networks in it that embed IPv4.
  ...Object.fromEntries(
    ["::/3", "4000::/2", "8000::/1", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"].map((network) => [
      network,
      "private, or leads to another address",
    ]),
  ),
};

const closedLists = Object.entries(closed).map(([network, what]) => {
  const [address = "", bits] = network.split("/");
  const family = familyOf(address);
  const list = new BlockList();
  list.addSubnet(address, Number(bits), family);
  return { list, family, what };
});

/** Family of a valid address. `isIP` would take 8 ms at its first use, in each command that loads this. */
function familyOf(address: string): "ipv4" | "ipv6" {
  return address.includes(":") ? "ipv6" : "ipv4";
}

/** Why an address is not public; undefined if it is. */
function closedAs(written: string): string | undefined {
  const [address = ""] = written.split("%", 1); // without the zone of a link-local address
  if (isIP(address) === 0) return "no address";
  const family = familyOf(address);
  // An IPv4 address would match a network of IPv6 as a mapped one.
  return closedLists.find((one) => one.family === family && one.list.check(address, family))?.what;
}

/**
 * Why an address must not be connected to; undefined if it may.
 * @param hostname the host in the message's URL, without brackets
 */
export function addressFault(hostname: string, address: string, reach: Reach): string | undefined {
  if (isLoopback(hostname)) return isLoopback(address) ? undefined : `${address} is not this machine`;
  if (reach === "anywhere") return undefined;
  const what = closedAs(address);
  return what === undefined ? undefined : `${address} is ${what}; set allowPrivate to allow it`;
}

/** A connection was rejected because of its address. */
export class AddressRefused extends Error {
  readonly code = "ADDRESS_REFUSED";
}

/** Checks a host that is a literal address, which is connected to without a DNS lookup. */
export function literalFault(hostname: string, reach: Reach): string | undefined {
  const bare = hostname.replace(/^\[|\]$/g, "");
  return isIP(bare) === 0 ? undefined : addressFault(bare, bare, reach);
}

/**
 * A DNS lookup for sockets that succeeds only if every address may be connected to.
 * @param resolve looks up all addresses of a name; the system's lookup by default
 */
export function guardedLookup(reach: Reach, resolve: LookupFunction = systemLookup): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, found) => {
      if (error) return callback(error, []);
      const addresses = typeof found === "string" ? [{ address: found, family: isIP(found) }] : found;
      const faults = addresses.map(({ address }) => addressFault(hostname, address, reach));
      const fault = faults.find((one) => one !== undefined);
      if (fault !== undefined) return callback(new AddressRefused(fault), []);
      const [first] = addresses;
      if (options.all === true || first === undefined) return callback(null, addresses);
      return callback(null, first.address, first.family);
    });
  };
}
