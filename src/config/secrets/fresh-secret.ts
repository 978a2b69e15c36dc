/**
 * A secret file that is checked again at every use, so that a replaced file takes effect immediately. If the new file
 * is unusable, the previous value stays in use.
 */
import { Secret } from "#core/secret.ts";
import { readSecretFile } from "./secret-file.ts";

/** Converts the text of the file into the value to use; undefined if it is invalid. */
type Reading = (text: string) => string | undefined;

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
   * A secret from a file.
   * @param expects completes "must hold …"
   */
  static of(file: string, reading: Reading, expects: string): FreshSecret | { readonly fault: string } {
    const read = readSecretFile(file);
    if ("fault" in read) return read;
    const used = reading(read.secret);
    return used === undefined
      ? { fault: `must hold ${expects}.` }
      : new FreshSecret({ text: read.secret, used, reading, file, expects });
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
