/** The names of Credential Sets. */

/** An ID of a Credential Set starts with a letter or digit, so that it is never `..`. */
export const credentialsIdForm = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

/** Length of a successor's suffix: `-20261120T0300Z`. */
export const successorSuffixLength = 15;

/** Whether a set belongs to a rotation: the first one, or a successor. */
export function isSetOf({ credentialsId }: { readonly credentialsId: string }, id: string): boolean {
  if (id === credentialsId) return true;
  return id.startsWith(`${credentialsId}-`) && /^\d{8}T\d{4}Z$/.test(id.slice(credentialsId.length + 1));
}

/**
 * The id of a successor created now; uses a later minute if the id is taken.
 * @param taken ids of the account
 */
export function successorId(credentialsId: string, nowMs: number, taken: ReadonlySet<string>): string {
  for (let atMs = nowMs; ; atMs += 60_000) {
    const stamp = new Date(atMs).toISOString().replace(/[-:]/g, "").slice(0, 13);
    const id = `${credentialsId}-${stamp}Z`;
    if (!taken.has(id)) return id;
  }
}
