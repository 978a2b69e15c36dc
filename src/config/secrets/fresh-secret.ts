/**
 * A secret file that is checked again at every use, so that a replaced file takes effect immediately. If the new file
 * is unusable, the previous value stays in use.
 */
import { Secret } from "#core/secret.ts";
import { asWebhookSecret } from "#core/webhook-secret.ts";
import { readSecretFile } from "./secret-file.ts";

/** Converts the text of the file into the value to use; undefined if it is invalid. */
type Reading = (text: string) => string | undefined;

/** The secret that signs webhooks. */
export const signingSecret = {
  reading: asWebhookSecret,
  expects: "whsec_ and 24 to 64 bytes in base64, or a key of 24 to 64 bytes as it is",
};

export class FreshSecret {
  readonly #file: string | undefined;
  readonly #reading: Reading;
  readonly #expects: string;
  #fault: string | undefined;
  #written: Secret;
  #used: Secret;
  /** Still scrubbed until the next change, since a message may contain it. */
  #retired: readonly Secret[] = [];

  private constructor(from: { text: string; used: string; reading: Reading; file?: string; expects?: string }) {
    this.#file = from.file;
    this.#expects = from.expects ?? "";
    this.#reading = from.reading;
    this.#written = new Secret(from.text);
    this.#used = new Secret(from.used);
  }

  /** A secret from the configuration itself; undefined if it is invalid. */
  static given(text: string, reading: Reading): FreshSecret | undefined {
    const used = reading(text);
    return used === undefined ? undefined : new FreshSecret({ text, used, reading });
  }

  /**
   * A secret from a file; undefined if it cannot be used, and `fault` says why.
   * @param expects completes "must hold …"
   */
  static of(
    file: string,
    { reading, expects }: { reading: Reading; expects: string },
    fault: (message: string) => void,
  ): FreshSecret | undefined {
    const read = readSecretFile(file);
    const used = "fault" in read ? undefined : reading(read.secret);
    if ("fault" in read) fault(read.fault);
    else if (used === undefined) fault(`must hold ${expects}.`);
    else return new FreshSecret({ text: read.secret, used, reading, file, expects });
    return undefined;
  }

  /** The secret as it is now. */
  now(): Secret {
    if (this.#file === undefined) return this.#used;
    const read = readSecretFile(this.#file);
    if ("fault" in read) this.#fault = read.fault;
    else if (read.secret === this.#written.reveal()) this.#fault = undefined;
    else this.#apply(read.secret);
    return this.#used;
  }

  /** Why the file could not be used at the last check; its previous content stays in use. */
  get fault(): string | undefined {
    return this.#fault;
  }

  #apply(text: string): void {
    const used = this.#reading(text);
    this.#fault = used === undefined ? `${this.#file} must hold ${this.#expects}.` : undefined;
    if (used === undefined) return;
    for (const secret of this.#retired) secret.forget();
    this.#retired = [this.#written, this.#used];
    this.#written = new Secret(text);
    this.#used = new Secret(used);
  }
}
