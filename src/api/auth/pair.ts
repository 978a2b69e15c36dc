/** The key and token pair (interface, section 2), and the two ways to get a fresh one. */
import type { Secret } from "#core/secret.ts";
import type { Coverage } from "#fleet/profile.ts";
import type { CredentialForm } from "./credential-form.ts";

/** The result of one authentication; kept in memory only. */
export interface Pair {
  readonly operatorId: string;
  readonly userName: string | undefined;
  /** The credentials that the pair was issued for. */
  readonly madeWith: CredentialForm;
  readonly apiKey: Secret;
  readonly token: Secret;
  /** From the token's verified claims; undefined if they are not verified or contain none. */
  readonly coverageTypes: readonly Coverage[] | undefined;
  /** Monotonic instant at which the pair expires. */
  readonly endsAtMs: number;
  /** The same instant on the wall clock. */
  readonly expiresAtMs: number;
}

export interface PairSource {
  authenticate(): Promise<Pair>;
  /**
   * The same pair with a new token; undefined if the platform refuses. Absent: not supported.
   * @throws if a later attempt can succeed
   */
  renew?(pair: Pair): Promise<Pair | undefined>;
}

export interface Fresh {
  readonly pair: Pair;
  readonly by: "auth" | "token";
}

/**
 * Returns the current pair with a new token, or else a new pair.
 * @param how `base` is absent if only an authentication will do; `isStillGood` returns whether the base is still in
 *   use once the new token arrives: if a 401 retired it, its successor would be rejected too
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

/** Unregisters the values of an unused pair from the scrubber. */
export function forget(pair: Pair | undefined): void {
  pair?.apiKey.forget();
  pair?.token.forget();
}
