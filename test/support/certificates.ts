/**
 * A certificate authority and certificates signed by it, created in memory for one test: X.509 v3 with ECDSA keys,
 * encoded as DER by this file, since Node.js reads certificates but creates none and not every machine has an openssl
 * command.
 */
import { generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";

/** PEM texts. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

export interface Authority {
  readonly cert: string;
  /** @param names host names and IPv4 addresses that the certificate is for */
  issue(commonName: string, names?: readonly string[]): Certificate;
}

export function createAuthority(commonName = "simfleet test authority"): Authority {
  const { privateKey, publicKey } = newKeys();
  const cert = certificate({
    subject: commonName,
    publicKey,
    issuer: commonName,
    issuerKey: privateKey,
    isAuthority: true,
  });
  return {
    cert,
    issue: (subject, names = []) => {
      const own = newKeys();
      const issued = { subject, names, publicKey: own.publicKey, issuer: commonName, issuerKey: privateKey };
      const key = own.privateKey.export({ type: "pkcs8", format: "pem" }).toString();
      return { cert: certificate({ ...issued, isAuthority: false }), key };
    },
  };
}

function newKeys(): { privateKey: KeyObject; publicKey: KeyObject } {
  return generateKeyPairSync("ec", { namedCurve: "P-256" });
}

interface Options {
  readonly subject: string;
  readonly names?: readonly string[];
  readonly publicKey: KeyObject;
  readonly issuer: string;
  readonly issuerKey: KeyObject;
  readonly isAuthority: boolean;
}

function certificate(options: Options): string {
  const { subject, names = [], publicKey, issuer, issuerKey, isAuthority } = options;
  const ecdsaWithSha256 = sequence(der(0x06, Buffer.from("2a8648ce3d040302", "hex")));
  const serial = randomBytes(16);
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x01;
  const basicConstraints = extension(
    "551d13",
    sequence(isAuthority ? der(0x01, Buffer.from([0xff])) : Buffer.alloc(0)),
  );
  const alternativeNames = extension("551d11", sequence(...names.map(generalName)));
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))), // version 3
    der(0x02, serial),
    ecdsaWithSha256,
    nameOf(issuer),
    sequence(instant(-3_600_000), instant(86_400_000)),
    nameOf(subject),
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, sequence(basicConstraints, ...(names.length > 0 ? [alternativeNames] : []))),
  );
  const signature = sign("sha256", body, issuerKey);
  const whole = sequence(body, ecdsaWithSha256, der(0x03, Buffer.concat([Buffer.from([0]), signature])));
  const lines = whole.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
}

function nameOf(commonName: string): Buffer {
  const attribute = sequence(der(0x06, Buffer.from("550403", "hex")), der(0x0c, Buffer.from(commonName)));
  return sequence(der(0x31, attribute));
}

function instant(fromNowMs: number): Buffer {
  const digits = new Date(Date.now() + fromNowMs).toISOString().replace(/\D/g, "").slice(0, 14);
  return der(0x18, Buffer.from(`${digits}Z`));
}

function extension(oid: string, value: Buffer): Buffer {
  return sequence(der(0x06, Buffer.from(oid, "hex")), der(0x04, value));
}

function generalName(name: string): Buffer {
  const isAddress = /^\d+(\.\d+){3}$/.test(name);
  return isAddress ? der(0x87, Buffer.from(name.split(".").map(Number))) : der(0x82, Buffer.from(name));
}

function sequence(...deps: readonly Buffer[]): Buffer {
  return der(0x30, Buffer.concat(deps));
}

function der(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}
