/** The key and token pair (interface, section 2), and the two ways to a fresh one. */
import type { Secret } from "#core/secret.ts";
import type { Coverage } from "#fleet/profile.ts";
import type { CredentialForm } from "./credential-form.ts";

/** What one authentication gave; it lives in memory alone. */
export interface Pair {
  readonly operatorId: string;
  readonly userName: string | undefined;
  /** The credentials that the platform gave it for. */
  readonly madeWith: CredentialForm;
  readonly apiKey: Secret;
  readonly token: Secret;
  /** From the token's verified claims; undefined when they are not verified or say nothing. */
  readonly coverageTypes: readonly Coverage[] | undefined;
  /** Monotonic instant from which the pair can no longer be used. */
  readonly endsAtMs: number;
  /** The same instant on the wall clock. */
  readonly expiresAtMs: number;
}

export interface PairSource {
  authenticate(): Promise<Pair>;
  /**
   * The same pair with a new token; undefined where the platform refuses that. Absent: there is no such way.
   * @throws where a later try can succeed
   */
  renew?(pair: Pair): Promise<Pair | undefined>;
}

export interface Fresh {
  readonly pair: Pair;
  readonly by: "auth" | "token";
}

/**
 * A new token for the pair at hand, else a new pair.
 * @param how `base` is absent where only an authentication will do; `isStillGood` tells whether it is still in use once
 *   the new token is there: where a 401 took it away, its offspring would be refused too
 */
export async function freshPair(
  source: PairSource,
  { base, isStillGood }: { base: Pair | undefined; isStillGood: () => boolean },
): Promise<Fresh> {
  const renewed = base === undefined || source.renew === undefined ? undefined : await source.renew(base);
  if (renewed !== undefined && isStillGood()) return { pair: renewed, by: "token" };
  forget(renewed);
  return { pair: await source.authenticate(), by: "auth" };
}

/** Ends the watch over the values of a pair that is not used any more. */
export function forget(pair: Pair | undefined): void {
  pair?.apiKey.forget();
  pair?.token.forget();
}
