/** The identity that the credentials of a profile belong to. */
import type { Coverage } from "#fleet/profile.ts";
import type { Pair } from "./pair.ts";

/** The identity as reported by the platform. */
export interface Principal {
  readonly operatorId: string;
  /** Present for a sub-user. */
  readonly userName: string | undefined;
  /** Undefined unless tokens are verified. */
  readonly coverageTypes: readonly Coverage[] | undefined;
  /** Expiry of the current pair, milliseconds since the Unix epoch. */
  readonly expiresAtMs: number;
}

export function principalOf({ operatorId, userName, coverageTypes, expiresAtMs }: Pair): Principal {
  return { operatorId, userName, coverageTypes, expiresAtMs };
}
