/** The addresses that a message may go to: by what they are, not by how they are written. */
import type { LookupAddress } from "node:dns";
import type { LookupFunction } from "node:net";
import { describe, expect, it } from "vitest";
import { addressFault, guardedLookup, literalFault, type Reach } from "#events/webhook/webhook-address.ts";

const closed = [
  "0.0.0.0",
  "10.0.0.1",
  "10.255.255.255",
  "100.64.0.1",
  "100.100.100.200",
  "127.0.0.1",
  "127.255.255.254",
  "168.63.129.16",
  "169.254.0.1",
  "169.254.169.254",
  "172.16.0.1",
  "172.31.255.255",
  "192.0.0.192",
  "192.0.2.1",
  "192.88.99.1",
  "192.168.0.1",
  "198.18.0.1",
  "198.51.100.1",
  "203.0.113.1",
  "224.0.0.1",
  "239.255.255.255",
  "240.0.0.1",
  "255.255.255.255",
  "::",
  "::1",
  "::7f00:1",
  "::ffff:10.0.0.1",
  "::ffff:8.8.8.8",
  "::ffff:7f00:1",
  "64:ff9b::a00:1",
  "64:ff9b:1::1",
  "100::1",
  "2001::1",
  "2001:db8::1",
  "2002:a00:1::1",
  "3fff::1",
  "4000::1",
  "fc00::1",
  "fd00:ec2::254",
  "fe80::1",
  "fe80::1%eth0",
  "fec0::1",
  "ff02::1",
  "5f00::1",
  "nonsense",
  "",
];
const open = [
  "1.1.1.1",
  "8.8.8.8",
  "9.255.255.255",
  "11.0.0.0",
  "100.63.255.255",
  "100.128.0.0",
  "126.255.255.255",
  "169.253.255.255",
  "172.15.255.255",
  "172.32.0.0",
  "192.167.255.255",
  "223.255.255.255",
  "2606:4700::1111",
  "2a00:1450:4001::1",
  "2400::1",
  "2003::1",
];

// Shows S12.
describe("webhook addresses", () => {
  it.each(closed)("a webhook name that resolves to %s is refused", (address) => {
    expect(addressFault("hooks.example", address, "public")).toEqual(expect.stringContaining(`${address} is `));
  });

  it.each(open)("a webhook name that resolves to %s is accepted", (address) => {
    expect(addressFault("hooks.example", address, "public")).toBeUndefined();
  });

  it("a webhook address in a private network is accepted when allowed", () => {
    expect(addressFault("vault.internal", "10.0.0.1", "anywhere")).toBeUndefined();
    expect(literalFault("[fd00::1]", "anywhere")).toBeUndefined();
  });

  // How a URL writes them is not how they are connected to: parsing has made plain numbers of them.
  it.each([
    ["2852039166", "169.254.169.254"],
    ["0251.0376.0251.0376", "169.254.169.254"],
    ["0xa9fea9fe", "169.254.169.254"],
    ["10.1", "10.0.0.1"],
    ["017700000002", "127.0.0.2"],
    ["[::ffff:10.0.0.1]", "::ffff:a00:1"],
    ["１０.0.0.1", "10.0.0.1"],
  ])("the webhook address %s is recognized as %s", (written, address) => {
    const { hostname } = new URL(`https://${written}/`);
    expect(hostname.replace(/^\[|\]$/g, "")).toBe(address);
    const fault = literalFault(hostname, "public");
    // This machine may be named where the address of the message itself says so.
    if (address.startsWith("127.")) expect(fault).toBeUndefined();
    else expect(fault).toContain("allowPrivate");
  });
});

/** A look-up that gives one answer after the other. */
function lookupOf(reach: Reach, ...answers: LookupAddress[][]): (name: string, all: boolean) => Promise<unknown> {
  const resolve: LookupFunction = (_name, _options, callback) => callback(null, answers.shift() ?? []);
  const lookup = guardedLookup(reach, resolve);
  return (name, all) =>
    new Promise((done, fail) => {
      lookup(name, { all }, (error, found) => (error === null ? done(found) : fail(error)));
    });
}

describe("webhook address lookups", () => {
  const outside = { address: "93.184.216.34", family: 4 };
  const inside = { address: "192.168.7.7", family: 4 };

  it("an address lookup returns allowed addresses in the requested form", async () => {
    const poll = lookupOf("public", [outside, outside], [outside]);
    expect(await poll("a.example", true)).toEqual([outside, outside]);
    expect(await poll("a.example", false)).toBe(outside.address);
  });

  it("an address lookup refuses a name that is rebound to a private address", async () => {
    const poll = lookupOf("public", [outside], [inside]);
    expect(await poll("a.example", true)).toEqual([outside]);
    await expect(poll("a.example", true)).rejects.toThrow("192.168.7.7 is private");
  });

  it("an address lookup refuses a name if any of its addresses is private", async () => {
    await expect(lookupOf("public", [outside, inside])("a.example", true)).rejects.toThrow("192.168.7.7");
  });
});
