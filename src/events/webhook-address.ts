/**
 * Which addresses a message may go to. Whoever can have a webhook configured could otherwise reach, from inside, what the
 * network hides: a metadata service, a database, this machine. An address is looked at as the numbers that it is, never
 * as it is written, and where a name stands for it, at the very look-up whose answer is connected to: a name that answers
 * otherwise a moment later changes nothing.
 */
import { lookup as systemLookup } from "node:dns";
import { BlockList, isIP, type LookupFunction } from "node:net";

/** `public`: the internet, and this machine where the address says so itself. `anywhere`: private networks as well. */
export type Reach = "public" | "anywhere";

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

/** IPv4 that is not of the public internet, by what it is (registries of IANA, RFC 6890). */
const closed: readonly (readonly [network: string, bits: number, what: string])[] = [
  ["0.0.0.0", 8, "of no network"],
  ["10.0.0.0", 8, "private"],
  ["100.64.0.0", 10, "shared by a carrier's customers"],
  ["127.0.0.0", 8, "this machine"],
  ["168.63.129.16", 32, "a cloud's metadata service"],
  ["169.254.0.0", 16, "link-local, where metadata services are"],
  ["172.16.0.0", 12, "private"],
  ["192.0.0.0", 24, "reserved"],
  ["192.0.2.0", 24, "for documentation"],
  ["192.88.99.0", 24, "reserved"],
  ["192.168.0.0", 16, "private"],
  ["198.18.0.0", 15, "for measurements"],
  ["198.51.100.0", 24, "for documentation"],
  ["203.0.113.0", 24, "for documentation"],
  ["224.0.0.0", 4, "multicast"],
  ["240.0.0.0", 4, "reserved"],
];

/** Of IPv6 only this is given to networks of the internet; mapped, translated, unique-local and others lie outside … */
const globalUnicast = blockListOf([["2000::", 3]]);
/** … but for those that carry an IPv4 address inside, or are no network at all. */
const closedUnicast = blockListOf([
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
]);

const closedLists = closed.map(([network, bits, what]) => {
  const list = new BlockList();
  list.addSubnet(network, bits, "ipv4");
  return { list, what };
});

/** What an address is that is not of the public internet; undefined where it is. */
function closedAs(written: string): string | undefined {
  const [address = ""] = written.split("%", 1); // without the zone of a link-local one
  if (isIP(address) === 0) return "no address";
  if (isIP(address) === 4) return closedLists.find(({ list }) => list.check(address, "ipv4"))?.what;
  if (loopback.check(address, "ipv6")) return "this machine";
  const isOpen = globalUnicast.check(address, "ipv6") && !closedUnicast.check(address, "ipv6");
  return isOpen ? undefined : "private, or leads to another address";
}

/** Whether an address names this machine itself, by whatever name. */
export function isLoopbackName(hostname: string): boolean {
  const bare = hostname.replace(/^\[|\]$/g, "");
  return bare === "localhost" || (isIP(bare) === 4 && loopback.check(bare, "ipv4")) || bare === "::1";
}

/**
 * Why an address may not be connected to; undefined where it may.
 * @param hostname the host as the message's URL has it, without brackets
 */
export function addressFault(hostname: string, address: string, reach: Reach): string | undefined {
  if (isLoopbackName(hostname)) return isLoopbackName(address) ? undefined : `${address} is not this machine`;
  if (reach === "anywhere") return undefined;
  const what = closedAs(address);
  return what === undefined ? undefined : `${address} is ${what}, which has to be allowed (allowPrivate)`;
}

/** A connection that was not made, since of where it would have led. */
export class AddressRefused extends Error {
  readonly code = "ADDRESS_REFUSED";
}

/** The fault of a host that is an address itself, which is connected to without any look-up. */
export function literalFault(hostname: string, reach: Reach): string | undefined {
  const bare = hostname.replace(/^\[|\]$/g, "");
  return isIP(bare) === 0 ? undefined : addressFault(bare, bare, reach);
}

/**
 * A look-up for sockets that gives addresses only where every one of them may be connected to.
 * @param resolve asks for all addresses of a name; the system's by default
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

function blockListOf(networks: readonly (readonly [network: string, bits: number])[]): BlockList {
  const list = new BlockList();
  for (const [network, bits] of networks) list.addSubnet(network, bits, "ipv6");
  return list;
}
