/** The permissions of a control API caller. Each role includes those of the roles before it. */

export const roles = ["viewer", "operator", "admin"] as const;
export type Role = (typeof roles)[number];

/** Whether a role includes the permissions of another. */
export function isAtLeast(role: Role, needed: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(needed);
}
