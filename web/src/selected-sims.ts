/**
 * SIMs that were selected on another page for a new run. They are handed over as a file in memory, since an address holds
 * only about 150 of them. The file is taken once: after a reload, the new run begins without it.
 */
let selected: File | undefined;

/** @param keyColumn `simId` or `imsi` */
export function putSelectedSims(keys: readonly string[], keyColumn: string): void {
  selected = new File([`${keyColumn}\n${keys.join("\n")}\n`], "selected-sims.csv", { type: "text/csv" });
}

/** Undefined if no selection waits. */
export function takeSelectedSims(): File | undefined {
  const file = selected;
  selected = undefined;
  return file;
}
