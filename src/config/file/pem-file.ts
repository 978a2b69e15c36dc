/** PEM files that hold no secret: certificates and public keys. */
import { messageOf } from "#core/errors.ts";
import { readFileOnce } from "#core/files/open-file.ts";
import type { Report } from "../report.ts";

const maxBytes = 1_048_576;
/** How each begins; the public key is also in a certificate. */
const beginnings = {
  certificate: /-----BEGIN CERTIFICATE-----/,
  "public key": /-----BEGIN (?:(?:RSA )?PUBLIC KEY|CERTIFICATE)-----/,
};

/** @returns undefined where no file is given, or where it is faulty, which `report` then says */
export function readPem(
  at: string,
  file: string | undefined,
  { kind, report }: { kind: keyof typeof beginnings; report: Report },
): string | undefined {
  if (file === undefined) return undefined;
  try {
    const text = readFileOnce(file, { links: "follow", maxBytes }).bytes.toString("utf8");
    if (beginnings[kind].test(text)) return text;
    report.fault(at, `${file} is not a PEM file of a ${kind}.`);
  } catch (thrown) {
    report.fault(at, `The file cannot be read: ${messageOf(thrown)}`);
  }
  return undefined;
}

/** Where the keys are that verify signatures. */
export type KeySource = { readonly jwksUrl: string } | { readonly publicKeyPem: string };

/**
 * Two settings of which one is given: the address of the keys, and the file of one.
 * @returns undefined where neither is given, or where the file is faulty, which `report` then says
 */
export function readKeySource(
  { jwksUrl, file }: { jwksUrl: string | undefined; file: string | undefined },
  at: { readonly jwksUrl: string; readonly file: string },
  report: Report,
): KeySource | undefined {
  if (jwksUrl !== undefined && file !== undefined) {
    report.fault(at.file, `is set together with ${report.whereOf(at.jwksUrl)}. Keep one of them.`);
  }
  if (jwksUrl !== undefined) return { jwksUrl };
  const publicKeyPem = readPem(at.file, file, { kind: "public key", report });
  return publicKeyPem === undefined ? undefined : { publicKeyPem };
}
