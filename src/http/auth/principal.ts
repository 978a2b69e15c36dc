import type { Role } from "#fleet/role.ts";

/** A caller of the control API whom a token has made known. */
export interface Principal {
  readonly name: string;
  readonly role: Role;
  /** `hook`: the sender of a signed message, whose name is the schedule's. */
  readonly kind: "token" | "jwt" | "admin-token" | "hook";
  /** When the credential ends; absent: it does not. */
  readonly expiresAtMs?: number;
}

/** Who does something, as runs, events and the record of changes name them: `token:ci`, `jwt:anna`. */
export function actorOf(principal: Principal | undefined): string {
  return principal === undefined ? "nobody" : `${principal.kind}:${principal.name}`;
}
