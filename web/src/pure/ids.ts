/** Finds the ids of runs, syncs, rotations and plans in a text of the server: they have one form. */

const idForm = /\b([rsptk]-\d{8}-\d{6}-\w+)/;

/** The text in parts, those at odd places being ids: `["Paused by ", "r-20261120-103045-x7k2m9ab", "."]`. */
export function splitAtIds(text: string): readonly string[] {
  return text.split(idForm);
}
