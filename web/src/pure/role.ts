/** Who may do what: each role may what the ones before it may. The server decides; this only keeps buttons honest. */

export const roles = ["viewer", "operator", "admin"] as const;
export type Role = (typeof roles)[number];

export function allows(role: Role, needed: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(needed);
}

/** Why a button is off; undefined where the role is enough. */
export function refusalOf(role: Role, needed: Role): string | undefined {
  return allows(role, needed) ? undefined : `Needs the role ${needed}; yours is ${role}.`;
}
