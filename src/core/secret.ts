/**
 * A secret that does not print itself: only `reveal()` gives the value. Each live secret is known to
 * `scrubSecrets`, which removes it from what the platform says, from the log and from what a command prints.
 */
import { inspect } from "node:util";

const live = new Map<string, number>();
/** The values of `live` in order; absent where they have changed since it was made. */
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

  /** Ends the scrubber's watch over this value: for secrets that are replaced, such as an expired token. */
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

/** The values to blot out, longest first, so that a secret that holds another is replaced whole. */
export function liveSecrets(): readonly string[] {
  ordered ??= [...live.keys()].sort((a, b) => b.length - a.length);
  return ordered;
}
