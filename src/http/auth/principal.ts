import type { Role } from "#fleet/role.ts";

export interface Principal {
  readonly name: string;
  readonly role: Role;
  /** `trigger`: the sender of a signed message, whose name is the schedule's. */
  readonly kind: "token" | "jwt" | "admin-token" | "trigger";
  /** When the credential ends; absent: it does not. */
  readonly expiresAtMs?: number | undefined;
}

/** The actor as runs, events and the audit log name it: `token:ci`, `jwt:anna`. */
export function actorOf(principal: Principal | undefined): string {
  return principal === undefined ? "nobody" : `${principal.kind}:${principal.name}`;
}
