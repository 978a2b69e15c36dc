/**
 * SIMs that were selected on another page for a new run. They are handed over as a file in memory, since an address
 * holds only about 150 of them. The file is taken once: after a reload, the new run starts without it.
 */
let selected: File | undefined;

/** @param keyColumn `simId` or `imsi` */
export function putSelectedSims(keys: readonly string[], keyColumn: string): void {
  selected = new File([`${keyColumn}\n${keys.join("\n")}\n`], "selected-sims.csv", { type: "text/csv" });
}

/** The same file with further columns, which have the same value in each row. */
export async function withColumns(file: File, values: Readonly<Record<string, string>>): Promise<File> {
  const [header, ...keys] = (await file.text()).trimEnd().split("\n");
  const cells = Object.values(values).map((value) => `"${value.replaceAll('"', '""')}"`);
  const lines = [[header, ...Object.keys(values)], ...keys.map((key) => [key, ...cells])].map((line) => line.join(","));
  return new File([`${lines.join("\n")}\n`], file.name, { type: file.type });
}

/** Undefined if no selection waits. */
export function takeSelectedSims(): File | undefined {
  const file = selected;
  selected = undefined;
  return file;
}
