/**
 * Removes the rows of runs, and then the runs, that have been kept for long enough. Rows are archived first, if there
 * is an archive; a run whose rows cannot be archived keeps them.
 */
import { createHash } from "node:crypto";
import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";
import { messageOf, SimfleetError } from "#core/errors.ts";
import { openFile } from "#core/files/open-file.ts";
import { checkFolder, replaceFile } from "#core/files/write-file.ts";
import { dayMs } from "#core/time.ts";
import type { Sweep, Swept } from "#engine/sweep.ts";
import type { Kernel } from "#kernel/kernel.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { RunRecord } from "../ledger/run-record.ts";
import { reportOfRun } from "../report.ts";
import { resultLines } from "../results/results.ts";
import { type RunRemoval, endedBefore } from "./removal.ts";

export interface SweepDeps extends Pick<Kernel, "config"> {
  readonly ledger: Ledger;
  readonly removal: RunRemoval;
}

export async function sweepRuns({ nowMs, signal }: Sweep, { config, ledger, removal }: SweepDeps): Promise<Swept> {
  const { rowDays, runDays, archive } = config.retention;
  const oldestRowsMs = nowMs - Math.min(rowDays, runDays) * dayMs;
  const counts = { runs: 0, rowsOfRuns: 0 };
  const problems: string[] = [];
  for await (const run of ledger.createdBefore(oldestRowsMs)) {
    if (signal.aborted) break;
    try {
      if (endedBefore(run, oldestRowsMs) && (await removal.hasRows(run.runId))) {
        await removal.removeRows(run, await archiveRun(run, archive, ledger));
        counts.rowsOfRuns += 1;
      }
      if (endedBefore(run, nowMs - runDays * dayMs)) {
        await removal.remove(run);
        counts.runs += 1;
      }
    } catch (thrown) {
      problems.push(`run ${run.runId}: ${messageOf(thrown)}`);
    }
  }
  return { counts, problems };
}

// The archive: the results and the report of a run as files, written before its rows are removed from Redis. A run is
// archived when both files are on disk and the results, read back, have the hash of what was written and a row for
// every row of the run.
//
//   <folder>/2026/11/r-20261120-103045-x7k2m9ab.results.csv.gz
//   <folder>/2026/11/r-20261120-103045-x7k2m9ab.report.json

/**
 * Writes a run to the archive; files of an earlier attempt are replaced.
 * @returns the path of the results; undefined without an archive, and if the removal had started before
 * @throws the error of the file system or of the rows; SimfleetError RESULTS_NOT_WRITABLE if what was written does not
 *   read back
 */
async function archiveRun(run: RunRecord, folder: string | undefined, ledger: Ledger): Promise<string | undefined> {
  const { runId, createdAtMs, total } = run;
  if (folder === undefined || run.rowsRemovedAtMs !== undefined) return undefined;
  const month = new Date(createdAtMs).toISOString().slice(0, 7).replace("-", "/");
  const path = join(folder, month);
  await mkdir(path, { recursive: true, mode: 0o700 });
  await checkFolder(path);
  const results = join(path, `${runId}.results.csv.gz`);
  const written = createHash("sha256");
  let records = 0;
  const counted = async function* (): AsyncGenerator<string> {
    for await (const line of resultLines(run, ledger, { format: "csv" })) {
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
  if (readBack.digest("hex") !== written.digest("hex") || records !== total + 1) {
    throw new SimfleetError("RESULTS_NOT_WRITABLE", `The archive ${results} does not read back as it was written`);
  }
  const text = `${JSON.stringify(reportOfRun(run), null, 2)}\n`;
  await replaceFile(join(path, `${runId}.report.json`), text, { mode: 0o600 });
  return results;
}

/** The folders of the archive: `<archive>/2026/11`. */
export async function archivedMonths(archive: string | undefined): Promise<string[]> {
  if (archive === undefined) return [];
  const years = await foldersIn(archive, /^\d{4}$/);
  return (await Promise.all(years.map((year) => foldersIn(year, /^\d{2}$/)))).flat();
}

async function foldersIn(path: string, isWanted: RegExp): Promise<string[]> {
  const names = await readdir(path).catch(() => []);
  return names.filter((name) => isWanted.test(name)).map((name) => join(path, name));
}
