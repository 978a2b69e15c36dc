/**
 * Roles and their permissions: each role includes those before it. The server decides; this only keeps the buttons
 * accurate.
 */

import type { Me } from "#contract/me.ts";

export type Role = Me["role"];
const roles = ["viewer", "operator", "admin"] as const satisfies Role[];

export function allows(role: Role, needed: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(needed);
}

/** Why a button is disabled; undefined if the role suffices. */
export function refusalOf(role: Role, needed: Role): string | undefined {
  return allows(role, needed) ? undefined : `Requires the role ${needed}; yours is ${role}.`;
}
