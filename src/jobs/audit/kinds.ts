/** The kinds of audited actions: those that features declare, and `other`. */
export function auditKindsOf(features: readonly { readonly audit?: string }[]): string[] {
  return [...new Set(features.flatMap(({ audit }) => audit ?? [])), "other"];
}
