/**
 * A secret that is looked at again whenever it is used, so that a file that was replaced holds at once. A file that
 * cannot be used keeps nobody from working: what it held before stays.
 */
import { Secret } from "#core/secret.ts";
import { readSecretFile } from "./secret-file.ts";

/** Makes what is used of what is written; undefined where it cannot be. */
type Reading = (text: string) => string | undefined;

export class FreshSecret {
  readonly #file: string | undefined;
  readonly #reading: Reading;
  readonly #expects: string;
  #fault: string | undefined;
  #written: Secret;
  #used: Secret;
  /** Known to the scrubber for one more change: a message with it may still be out. */
  #retired: readonly Secret[] = [];

  private constructor(from: { text: string; used: string; reading: Reading; file?: string; expects?: string }) {
    this.#file = from.file;
    this.#expects = from.expects ?? "";
    this.#reading = from.reading;
    this.#written = new Secret(from.text);
    this.#used = new Secret(from.used);
  }

  /** A secret that stands in the configuration itself; undefined where it is none. */
  static given(text: string, reading: Reading): FreshSecret | undefined {
    const used = reading(text);
    return used === undefined ? undefined : new FreshSecret({ text, used, reading });
  }

  /**
   * A secret that a file holds.
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
    else this.#takeUp(read.secret);
    return this.#used;
  }

  /** Why the file could not be used at the last check; its previous content stays in use. */
  get fault(): string | undefined {
    return this.#fault;
  }

  #takeUp(text: string): void {
    const used = this.#reading(text);
    this.#fault = used === undefined ? `${this.#file} must hold ${this.#expects}.` : undefined;
    if (used === undefined) return;
    for (const secret of this.#retired) secret.forget();
    this.#retired = [this.#written, this.#used];
    this.#written = new Secret(text);
    this.#used = new Secret(used);
  }
}
