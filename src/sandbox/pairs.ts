/**
 * The pairs given out (interface, sections 2 and 3). A pair is checked by looking it up, not by its signature: the
 * sandbox made it, and the lookup is what keeps the server fast. A renewed pair has several tokens for one API key; each
 * lives until its own end, so that calls that are under way with the old one are not struck.
 */
import type { Clock } from "#core/time.ts";
import { Refusal, type RefusalName } from "./messages.ts";

/** Whom a pair was given to. */
export interface Holder {
  readonly apiKey: string;
  /** Absent: the Root user. */
  readonly userName: string | undefined;
  /** The AuthKey that the pair was made with, if it was. */
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

  /** Pairs that are neither expired nor withdrawn. */
  get live(): number {
    const nowMs = this.#clock.monotonicMs();
    return [...this.#pairs.values()].filter(({ tokens }) => tokens.some((token) => token.expiresAtMs > nowMs)).length;
  }

  /** Adds a pair, or one more token to a pair that is there. */
  put(holder: Holder, text: string, expiresAtMs: number): void {
    const pair = this.#pairs.get(holder.apiKey) ?? { holder, tokens: [] };
    pair.tokens.unshift({ text, expiresAtMs });
    pair.tokens.length = Math.min(pair.tokens.length, keptTokens);
    this.#pairs.set(holder.apiKey, pair);
  }

  /** Lets a call with a valid pair pass. @throws Refusal, of the given name where the pair has expired */
  check(apiKey: string | undefined, text: string | undefined, whenExpired: RefusalName): Holder {
    if (!apiKey || !text) throw new Refusal("pairMissing");
    const pair = this.#pairs.get(apiKey);
    const token = pair?.tokens.find((known) => known.text === text);
    if (pair === undefined || token === undefined) throw new Refusal("pairInvalid");
    if (token.expiresAtMs <= this.#clock.monotonicMs()) throw new Refusal(whenExpired);
    return pair.holder;
  }

  /** Every pair becomes invalid now. */
  expireAll(): void {
    for (const { tokens } of this.#pairs.values()) for (const token of tokens) token.expiresAtMs = -Infinity;
  }

  /** The pairs that were made with an AuthKey are there no more. */
  withdraw(authKeyId: string): void {
    for (const [apiKey, { holder }] of this.#pairs) if (holder.authKeyId === authKeyId) this.#pairs.delete(apiKey);
  }
}
