/**
 * Files that settings name: secrets, which must be private, and PEM files of certificates and public keys. A secret can
 * be read again at every use, so that a replaced file takes effect immediately.
 */
import { X509Certificate, createPublicKey } from "node:crypto";
import { ConfigError, messageOf } from "#core/errors.ts";
import { FileRefusedError, readFileOnce } from "#core/files/open-file.ts";
import { Secret } from "#core/secrets/secret.ts";
import { asWebhookSecret } from "#core/secrets/webhook-secret.ts";
import type { Report } from "../report.ts";

const maxSecretBytes = 64 * 1024;
const maxPemBytes = 1_048_576;

/**
 * Reads a secret from a file of this user or root that no other user may read, without a byte order mark and one line
 * break at its end. Symbolic links are followed, since mounted secrets use them: the rules apply to the final file.
 * @returns the secret, or the problem of the file and how to fix it
 */
export function readSecretFile(path: string): { readonly secret: string } | { readonly fault: string } {
  const read = readSecretBytes(path);
  if ("fault" in read) return read;
  const secret = read.bytes.toString("utf8").replace(/^\uFEFF|\r?\n$/g, "");
  return secret === "" ? { fault: `${path} is empty.` } : { secret };
}

/** The same file as the bytes that it holds, for keys that are no text. */
export function readSecretBytes(path: string): { readonly bytes: Buffer } | { readonly fault: string } {
  try {
    return { bytes: readFileOnce(path, { links: "follow", access: "private", maxBytes: maxSecretBytes }).bytes };
  } catch (thrown) {
    if (thrown instanceof FileRefusedError) return { fault: thrown.message };
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === "ENOENT") return { fault: `There is no file ${path}.` };
    if (code === "EACCES") return { fault: `${path} cannot be read by this user.` };
    return { fault: messageOf(thrown) };
  }
}

interface Form {
  /** Converts the text into the value to use; undefined if it is invalid. */
  readonly reading: (text: string) => string | undefined;
  /** Completes "must hold …". */
  readonly expects: string;
}

/** The secret that signs webhooks. */
export const signingSecret: Form = {
  reading: asWebhookSecret,
  expects: "whsec_ and 24 to 64 bytes in base64, or a key of 24 to 64 bytes as it is",
};

/** A secret from the configuration itself; undefined if it is invalid. */
export function givenSecret(text: string, form: Form) {
  const used = form.reading(text);
  if (used === undefined) return undefined;
  const [secret] = asSecrets({ used, written: text });
  return { now: () => secret, fault: undefined };
}

/**
 * A secret from a file, which is read again at every use. `report` says why it cannot be used; its use throws a
 * ConfigError until it can.
 */
export function secretInFile(file: string, form: Form, report: (fault: string) => void) {
  let current: ReturnType<typeof asSecrets> | undefined;
  // Still scrubbed until the next change, since a message may contain it.
  let retired: readonly Secret[] = [];
  let fault: string | undefined;
  const read = (): void => {
    const found = readUsable(file, form);
    fault = "fault" in found ? found.fault : undefined;
    if ("fault" in found || found.written === current?.[1].reveal()) return;
    for (const secret of retired) secret.forget();
    retired = current ?? [];
    current = asSecrets(found);
  };
  read();
  if (fault !== undefined) report(fault);
  return {
    now() {
      read();
      if (current === undefined) throw new ConfigError([{ where: file, message: fault ?? "" }]);
      return current[0];
    },
    /** Why the file could not be used at the last check; its previous content stays in use. */
    get fault() {
      return fault;
    },
  };
}

/** The value in use, and the text that it was made of: no message may show either. */
function asSecrets({ used, written }: { used: string; written: string }): readonly [used: Secret, written: Secret] {
  return [new Secret(used), new Secret(written)];
}

function readUsable(file: string, { reading, expects }: Form): { used: string; written: string } | { fault: string } {
  const read = readSecretFile(file);
  if ("fault" in read) return read;
  const used = reading(read.secret);
  return used === undefined ? { fault: `${file} must contain ${expects}.` } : { used, written: read.secret };
}

/** How each kind of PEM file is read; they throw for another text. A public key may also be in a certificate. */
const pemReaders = {
  certificate: (text: string) => new X509Certificate(text),
  // Node would make a public key of a private one.
  "public key": (text: string) => !text.includes("PRIVATE KEY-----") && createPublicKey(text),
};

/** @returns undefined where no file is given, or where it is faulty, which `report` then says */
export function readPem(at: string, file: string | undefined, kind: keyof typeof pemReaders, report: Report) {
  if (file === undefined) return undefined;
  let text: string;
  try {
    text = readFileOnce(file, { links: "follow", maxBytes: maxPemBytes }).bytes.toString("utf8");
  } catch (thrown) {
    report.fault(at, `The file cannot be read: ${messageOf(thrown)}`);
    return undefined;
  }
  try {
    if (pemReaders[kind](text) !== false) return text;
  } catch {
    // As for another text.
  }
  report.fault(at, `${file} is not a PEM file of a ${kind}.`);
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
    report.fault(at.file, `is set together with ${report.placeOf(at.jwksUrl)?.where}. Keep one of them.`);
  }
  if (jwksUrl !== undefined) return { jwksUrl };
  const publicKeyPem = readPem(at.file, file, "public key", report);
  return publicKeyPem === undefined ? undefined : { publicKeyPem };
}
