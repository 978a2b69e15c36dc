/**
 * The issued pairs (interface, sections 2 and 3). A pair is validated by a lookup, not by its signature: the sandbox
 * created it, and the lookup keeps the server fast. A renewed pair has several tokens for one API key; each remains
 * valid until it expires, so that calls in flight with the old one are not affected.
 */
import type { Clock } from "#core/time.ts";
import { Refusal, type RefusalName } from "../refusals.ts";

/** The holder of a pair. */
export interface Holder {
  readonly apiKey: string;
  /** Absent: the Root user. */
  readonly userName: string | undefined;
  /** The AuthKey that the pair was obtained with, if any. */
  readonly authKeyId: string | undefined;
}

interface Token {
  readonly text: string;
  expiresAtMs: number;
}

interface IssuedPair {
  readonly holder: Holder;
  readonly tokens: Token[];
}

const keptTokens = 10;

export class Pairs {
  readonly #clock: Clock;
  readonly #pairs = new Map<string, IssuedPair>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Pairs that are neither expired nor revoked. */
  get live(): number {
    const nowMs = this.#clock.monotonicMs();
    return [...this.#pairs.values()].filter(({ tokens }) => tokens.some((token) => token.expiresAtMs > nowMs)).length;
  }

  /** Adds a pair, or one more token to an existing pair. */
  put(holder: Holder, text: string, expiresAtMs: number): void {
    const pair = this.#pairs.get(holder.apiKey) ?? { holder, tokens: [] };
    pair.tokens.unshift({ text, expiresAtMs });
    pair.tokens.length = Math.min(pair.tokens.length, keptTokens);
    this.#pairs.set(holder.apiKey, pair);
  }

  /** Checks that a pair is valid. @throws Refusal, the given one if the pair has expired */
  check(apiKey: string | undefined, text: string | undefined, whenExpired: RefusalName): Holder {
    if (!apiKey || !text) throw new Refusal("pairMissing");
    const pair = this.#pairs.get(apiKey);
    const token = pair?.tokens.find((known) => known.text === text);
    if (pair === undefined || token === undefined) throw new Refusal("pairInvalid");
    if (token.expiresAtMs <= this.#clock.monotonicMs()) throw new Refusal(whenExpired);
    return pair.holder;
  }

  /** Invalidates every pair. */
  expireAll(): void {
    for (const { tokens } of this.#pairs.values()) for (const token of tokens) token.expiresAtMs = -Infinity;
  }

  /** Revokes the pairs that were obtained with an AuthKey. */
  withdraw(authKeyId: string): void {
    for (const [apiKey, { holder }] of this.#pairs) if (holder.authKeyId === authKeyId) this.#pairs.delete(apiKey);
  }
}
