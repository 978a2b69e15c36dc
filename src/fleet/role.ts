/** What a caller of the control API may do. Each role may do everything that those before it may. */

export const roles = ["viewer", "operator", "admin"] as const;
export type Role = (typeof roles)[number];

/** Whether someone of this role may do what needs the other. */
export function isAtLeast(role: Role, needed: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(needed);
}
