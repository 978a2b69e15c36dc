/**
 * Adds up the lines of an export for each SIM, in 8 bytes for each SIM of the inventory. A SIM can have several lines. Nothing
 * is known of a file before its last line was read.
 */
import type { Readable } from "node:stream";
import { IntakeError } from "#core/errors.ts";
import { isImsi } from "#fleet/sim/sim.ts";
import { openCsv } from "#intake/csv.ts";

/** Larger than a file of a fleet of millions: what is larger is no export of usage. */
const caps = { bytes: 16 * 2 ** 30, rows: 200_000_000, columns: 1_000 };
/** SIMs that are not in the inventory are counted up to this number. */
const maxUnknown = 100_000;
const count = /^\d{1,15}$/;

/** An IMSI as a number that keeps zeros in front: it has at most 15 digits. 0 for what is none. */
export function imsiNumber(imsi: string): number {
  return isImsi(imsi) ? Number(`1${imsi}`) : 0;
}

/** SIMs of the inventory in the order of their IMSIs (`imsiNumber`), with the ordinal of each. */
export type SimsByImsi = Readonly<{ imsis: Float64Array; ordinals: Int32Array }>;

/**
 * Reads an export.
 * @param date the date of the lines that count, `202611` or `20261120`
 * @returns `bytes` by ordinal; `sims` with bytes, and `unknown` ones that are not in the inventory
 * @throws IntakeError for a file that is not whole or is no export of usage; the signal's reason
 */
export async function sumExport(file: Readable, { imsis, ordinals }: SimsByImsi, date: string, signal: AbortSignal) {
  const { header, batches } = await openCsv(file, caps, signal);
  const columns = ["imsi", "date", "uploadByteSizeTotal", "downloadByteSizeTotal"].map((name) => {
    const place = header.indexOf(name);
    if (place < 0) throw new IntakeError(`The export has no column ${name}.`);
    return place;
  });
  const isDate = new RegExp(`^\\d{${date.length}}$`);
  const bytes = new Float64Array(ordinals.length);
  const unknown = new Set<number>();
  for await (const batch of batches) {
    for (const { line, cells } of batch) {
      const refuse = (what: string) => new IntakeError(`Line ${line} of the export ${what}.`, { line });
      if (cells.length !== header.length)
        throw refuse(`has ${cells.length} cells of ${header.length}: it is not whole`);
      const [imsi = "", day = "", sent = "", received = ""] = columns.map((place) => cells[place]);
      const number = imsiNumber(imsi);
      if (number === 0) throw refuse("has no IMSI");
      if (!isDate.test(day)) throw refuse(`has no date such as ${date}`);
      if (!count.test(sent) || !count.test(received)) throw refuse("has a number of bytes that is none");
      if (day !== date) continue;
      const ordinal = ordinals[placeIn(imsis, number)];
      if (ordinal !== undefined) bytes[ordinal] = (bytes[ordinal] ?? 0) + Number(sent) + Number(received);
      else if (unknown.size < maxUnknown) unknown.add(number);
    }
  }
  return { bytes, unknown: unknown.size, sims: bytes.reduce((sims, some) => sims + Number(some > 0), 0) };
}

/** The place of a number among sorted ones; -1 if it is not there. */
export function placeIn(sorted: Float64Array, number: number): number {
  let [from, to] = [0, sorted.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((sorted[middle] ?? 0) < number) from = middle + 1;
    else to = middle;
  }
  return sorted[from] === number ? from : -1;
}
