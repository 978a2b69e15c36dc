/**
 * The credentials of one profile while a process runs: as configured, until one of their files changes. A change is
 * applied completely or not at all: if any part is invalid, the previous credentials stay. Replaced credentials are
 * kept as a fallback until the platform has accepted the new ones, so that a wrong secret in a valid file does not lock
 * out the profile. The files are looked at every second: unlike notifications, that works on every file system, and sees
 * a link that is switched anywhere on the path, as mounted secrets do.
 */
import { statSync } from "node:fs";
import { messageOf } from "#core/errors.ts";
import { every, secondMs } from "#core/time.ts";
import type { SecretOrigin } from "../config.ts";
import { type Credentials, forgetCredentials } from "./credentials.ts";

interface Listener {
  /** Other credentials are in place. */
  reloaded(): void;
  /** A change was not loaded; the reason names the file and never its content. */
  kept(reason: string): void;
}

export class WatchedCredentials {
  readonly #origin: SecretOrigin;
  readonly #listener: Listener;
  /** The files as they were at the last look. */
  #seen: string;
  #stop: (() => void) | undefined;
  #current: readonly Credentials[];
  /** Seen to be good, or configured at the start; behind the current ones until those are. */
  #fallback: readonly Credentials[] = [];
  /** Known to the scrubber for one more change: calls with them may still be out. */
  #retired: readonly Credentials[] = [];
  #isProven = true;

  constructor({
    initial,
    origin,
    listener,
  }: {
    initial: readonly Credentials[];
    origin: SecretOrigin;
    listener: Listener;
  }) {
    this.#current = initial;
    this.#origin = origin;
    this.#listener = listener;
    this.#seen = fingerprintOf(origin.files);
  }

  start(): void {
    if (this.#origin.files.length > 0) this.#stop = every(secondMs, () => this.poll());
  }

  stop(): void {
    this.#stop?.();
  }

  /** Reloads the files if one is another than at the last look, or may now be read, or no longer. */
  poll(): void {
    const now = fingerprintOf(this.#origin.files);
    if (now === this.#seen) return;
    this.#seen = now;
    this.#takeUp();
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

function fingerprintOf(files: readonly string[]): string {
  const parts = files.map((file) => {
    try {
      const { dev, ino, mode, size, mtimeNs, ctimeNs } = statSync(file, { bigint: true });
      return [dev, ino, mode, size, mtimeNs, ctimeNs].join(" ");
    } catch (thrown) {
      return String((thrown as NodeJS.ErrnoException).code);
    }
  });
  return parts.join("\n");
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
