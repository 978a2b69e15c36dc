/**
 * A secret file that is checked again at every use, so that a replaced file takes effect immediately. If the new file
 * is unusable, the previous value stays in use.
 */
import { Secret } from "#core/secret.ts";
import { asWebhookSecret } from "#core/webhook-secret.ts";
import { readSecretFile } from "./secret-file.ts";

/** What a secret has to be. */
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

export class FreshSecret {
  readonly #file: string | undefined;
  readonly #form: Form;
  #fault: string | undefined;
  /** The value in use, and the text that it was made of. */
  #current: readonly [used: Secret, written: Secret];
  /** Still scrubbed until the next change, since a message may contain it. */
  #retired: readonly Secret[] = [];

  private constructor(form: Form, current: readonly [string, string], file?: string) {
    this.#form = form;
    this.#current = [new Secret(current[0]), new Secret(current[1])];
    this.#file = file;
  }

  /** A secret from the configuration itself; undefined if it is invalid. */
  static given(text: string, form: Form): FreshSecret | undefined {
    const used = form.reading(text);
    return used === undefined ? undefined : new FreshSecret(form, [used, text]);
  }

  /** A secret from a file; undefined if it cannot be used, and `fault` says why. */
  static of(file: string, form: Form, fault: (message: string) => void): FreshSecret | undefined {
    const read = readUsable(file, form);
    if (!("fault" in read)) return new FreshSecret(form, [read.used, read.written], file);
    fault(read.fault);
    return undefined;
  }

  /** The secret as it is now. */
  now(): Secret {
    if (this.#file === undefined) return this.#current[0];
    const read = readUsable(this.#file, this.#form);
    this.#fault = "fault" in read ? read.fault : undefined;
    if (!("fault" in read) && read.written !== this.#current[1].reveal()) {
      for (const secret of this.#retired) secret.forget();
      this.#retired = this.#current;
      this.#current = [new Secret(read.used), new Secret(read.written)];
    }
    return this.#current[0];
  }

  /** Why the file could not be used at the last check; its previous content stays in use. */
  get fault(): string | undefined {
    return this.#fault;
  }
}

function readUsable(file: string, { reading, expects }: Form): { used: string; written: string } | { fault: string } {
  const read = readSecretFile(file);
  if ("fault" in read) return read;
  const used = reading(read.secret);
  return used === undefined ? { fault: `${file} must hold ${expects}.` } : { used, written: read.secret };
}
