import type { Bearer } from "#jobs/tokens/tokens.ts";

/** A caller; its credential ends at `expiresAtMs`, or not. */
export interface Principal extends Bearer {
  /** `trigger`: the sender of a signed message, whose name is the schedule's. */
  readonly kind: "token" | "jwt" | "admin-token" | "trigger";
}

/** The actor as runs, events and the audit log name it: `token:ci`, `jwt:anna`. */
export function actorOf(principal: Principal | undefined): string {
  return principal === undefined ? "nobody" : `${principal.kind}:${principal.name}`;
}
