/**
 * A secret that does not print itself: only `reveal()` returns the value. `scrubSecrets` knows each live secret and
 * removes it from platform responses, the log and command output.
 */
import { inspect } from "node:util";

const live = new Map<string, number>();
/** The values of `live` in order; absent if they have changed since it was built. */
let ordered: readonly string[] | undefined;

export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
    live.set(value, (live.get(value) ?? 0) + 1);
    ordered = undefined;
  }

  reveal(): string {
    return this.#value;
  }

  /** Unregisters this value from the scrubber: for secrets that are replaced, such as an expired token. */
  forget(): void {
    const held = live.get(this.#value) ?? 0;
    if (held > 1) live.set(this.#value, held - 1);
    else live.delete(this.#value);
    ordered = undefined;
  }

  toString(): string {
    return "[secret]";
  }

  toJSON(): string {
    return "[secret]";
  }

  [inspect.custom](): string {
    return "[secret]";
  }
}

/** The values to redact, longest first, so that a secret that contains another is replaced whole. */
export function liveSecrets(): readonly string[] {
  ordered ??= [...live.keys()].sort((a, b) => b.length - a.length);
  return ordered;
}
