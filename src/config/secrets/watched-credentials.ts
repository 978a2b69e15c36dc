/**
 * The credentials of one profile while a process runs: as configured, until one of their files changes. A change is
 * applied completely or not at all: if any part is invalid, the previous credentials stay. Replaced credentials are
 * kept as a fallback until the platform has accepted the new ones, so that a wrong secret in a valid file does not lock
 * out the profile.
 */
import { messageOf } from "#core/errors.ts";
import type { Clock } from "#core/time.ts";
import type { SecretOrigin } from "../config.ts";
import { type Credentials, forgetCredentials } from "./credentials.ts";
import { FileWatch } from "../file/file-watch.ts";

interface Listener {
  /** Other credentials are in place. */
  reloaded(): void;
  /** A change was not loaded; the reason names the file and never its content. */
  kept(reason: string): void;
}

export class WatchedCredentials {
  readonly #origin: SecretOrigin;
  readonly #listener: Listener;
  readonly #watch: FileWatch | undefined;
  #current: readonly Credentials[];
  /** Seen to be good, or configured at the start; behind the current ones until those are. */
  #fallback: readonly Credentials[] = [];
  /** Known to the scrubber for one more change: calls with them may still be out. */
  #retired: readonly Credentials[] = [];
  #isProven = true;

  constructor(options: { initial: readonly Credentials[]; origin: SecretOrigin; clock: Clock; listener: Listener }) {
    const { initial, origin, clock, listener } = options;
    this.#current = initial;
    this.#origin = origin;
    this.#listener = listener;
    if (origin.files.length > 0) {
      this.#watch = new FileWatch({ files: origin.files, clock, onChange: () => this.#takeUp() });
    }
  }

  start(): void {
    this.#watch?.start();
  }

  stop(): void {
    this.#watch?.stop();
  }

  /** Reloads changed files without waiting for a notification. */
  poll(): void {
    this.#watch?.poll();
  }

  /** What to authenticate with, the preferred form first. */
  forms(): readonly Credentials[] {
    return [...this.#current, ...this.#fallback];
  }

  /** Says that the platform took these: where they are of the current ones, the previous ones are released. */
  proven(form: Credentials): void {
    if (this.#isProven || !this.#current.some((one) => isSame(one, form))) return;
    this.#isProven = true;
    this.#retire(this.#fallback);
    this.#fallback = [];
  }

  #takeUp(): void {
    let next: readonly Credentials[];
    try {
      next = this.#origin.read();
    } catch (thrown) {
      this.#listener.kept(messageOf(thrown));
      return;
    }
    if (next.length === this.#current.length && next.every((form, i) => isSame(form, this.#current[i]))) {
      for (const form of next) forgetCredentials(form);
      return;
    }
    const before = this.#isProven ? this.#current : this.#fallback;
    const dropped = this.#isProven ? [] : this.#current;
    const isAgain = (form: Credentials): boolean => next.some((one) => isSame(one, form));
    this.#fallback = before.filter((form) => !isAgain(form));
    this.#retire([...dropped, ...before.filter(isAgain)]);
    this.#current = next;
    this.#isProven = false;
    this.#listener.reloaded();
  }

  #retire(forms: readonly Credentials[]): void {
    if (forms.length === 0) return;
    for (const form of this.#retired) forgetCredentials(form);
    this.#retired = forms;
  }
}

function isSame(one: Credentials, other: Credentials | undefined): boolean {
  return other !== undefined && identityOf(one).every((part, i) => part === identityOf(other)[i]);
}

function identityOf(form: Credentials): readonly (string | undefined)[] {
  switch (form.kind) {
    case "auth-key":
      return [form.kind, form.authKeyId, form.authKey.reveal()];
    case "root":
      return [form.kind, form.email, form.password.reveal(), form.mfaSecret?.reveal()];
    case "sub-user":
      return [form.kind, form.operatorId, form.userName, form.password.reveal(), form.mfaSecret?.reveal()];
  }
}
