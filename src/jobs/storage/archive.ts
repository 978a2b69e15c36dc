/**
 * The archive: the results and the report of a run as files, written before its rows are removed from Redis. A run is
 * archived when both files are on disk and the results, read back, have the hash of what was written and a row for every
 * row of the run.
 *
 *   <folder>/2026/11/r-20261120-103045-x7k2m9ab.results.csv.gz
 *   <folder>/2026/11/r-20261120-103045-x7k2m9ab.report.json
 */
import { createHash } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";
import { SimfleetError } from "#core/errors.ts";
import { openFile } from "#core/files/open-file.ts";
import { checkFolder, replaceFile } from "#core/files/write-file.ts";

export interface ArchivedRun {
  readonly runId: string;
  readonly createdAtMs: number;
  /** Number of rows. */
  readonly total: number;
  /** As `runs show --json` prints it. */
  readonly report: object;
  /** The results as CSV; read once. */
  readonly lines: AsyncIterable<string>;
}

/**
 * Writes a run to the archive; files of an earlier attempt are replaced.
 * @returns the path of the results
 * @throws the error of the file system or of the rows; SimfleetError RESULTS_NOT_WRITABLE if what was written does not read
 *   back
 */
export async function archiveRun(folder: string, run: ArchivedRun): Promise<string> {
  const month = new Date(run.createdAtMs).toISOString().slice(0, 7).replace("-", "/");
  const path = join(folder, month);
  await mkdir(path, { recursive: true, mode: 0o700 });
  await checkFolder(path);
  const results = join(path, `${run.runId}.results.csv.gz`);
  const written = createHash("sha256");
  let records = 0;
  const counted = async function* (): AsyncGenerator<string> {
    for await (const line of run.lines) {
      written.update(line);
      records += 1;
      yield line;
    }
  };
  await pipeline(counted, createGzip(), (packed: AsyncIterable<Buffer>) =>
    replaceFile(results, packed, { mode: 0o600 }),
  );
  const readBack = createHash("sha256");
  const file = await openFile(results, { links: "refuse" });
  await pipeline(file.createReadStream(), createGunzip(), readBack);
  if (readBack.digest("hex") !== written.digest("hex") || records !== run.total + 1) {
    throw new SimfleetError("RESULTS_NOT_WRITABLE", `The archive ${results} does not read back as it was written`);
  }
  const report = join(path, `${run.runId}.report.json`);
  await replaceFile(report, `${JSON.stringify(run.report, null, 2)}\n`, { mode: 0o600 });
  return results;
}
