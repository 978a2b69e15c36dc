/**
 * One sweep: removes what has been kept for long enough. Rows are archived first, if there is an archive; a run whose rows
 * cannot be archived keeps them. Every removal may be interrupted and is completed by the next sweep.
 */
import { messageOf, SimfleetError } from "#core/errors.ts";
import type { Clock } from "#core/time.ts";
import type { KeyColumn } from "#fleet/sim/sim.ts";
import type { StoreDeps } from "#engine/move-record.ts";
import type { RotationLog } from "#jobs/credentials/record.ts";
import { isRotationOver } from "#jobs/credentials/rotation-machine.ts";
import { type Inventory, forgetGoneSims } from "#jobs/inventory/store/inventory.ts";
import type { SyncLog } from "#jobs/inventory/store/sync-record.ts";
import type { Ledger } from "#jobs/runs/ledger/ledger.ts";
import { type RunRemoval, endedBefore } from "#jobs/runs/removal/removal.ts";
import type { RunRecord } from "#jobs/runs/ledger/run-record.ts";
import type { Retention } from "./config.ts";
import { type DataOfFeature, formerProfiles, removeProfile, removeUnusedInventories } from "./profiles.ts";
import { createHash } from "node:crypto";
import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";
import { openFile } from "#core/files/open-file.ts";
import { checkFolder, replaceFile } from "#core/files/write-file.ts";

export interface SweepDeps extends StoreDeps {
  readonly clock: Clock;
  readonly ledger: Ledger;
  readonly runRemoval: RunRemoval;
  readonly inventory: Inventory;
  readonly syncs: SyncLog;
  readonly rotations: Pick<RotationLog, "records" | "forget">;
  readonly features: readonly DataOfFeature[];
  /** Names of the rotations of the configuration. */
  readonly configuredRotations: readonly string[];
  readonly retention: Retention;
  /** The profiles of the configuration. */
  readonly profiles: readonly string[];
  readonly keyColumnOf: (profile: string) => KeyColumn;
  /** Parts of a run for the archive. */
  readonly archiveOf: (run: RunRecord) => Promise<{ readonly report: object; readonly lines: AsyncIterable<string> }>;
}

/** Result of a sweep. */
export interface SweepReport {
  readonly runs: number;
  /** Runs whose rows were removed. */
  readonly rowsOfRuns: number;
  readonly goneSims: number;
  readonly rotations: number;
  /** Profiles that are no longer configured. */
  readonly profiles: number;
  /** Data that could not be removed, with the reason. */
  readonly problems: readonly string[];
}

/**
 * @param nowMs by Redis's clock, ms since the epoch: that of a process may be wrong
 * @param signal aborts between two runs
 */
export async function sweep(deps: SweepDeps, nowMs: number, signal: AbortSignal): Promise<SweepReport> {
  const { retention, profiles, syncs, ledger, runRemoval } = deps;
  const rowsMs = Math.min(retention.rowsMs, retention.runsMs);
  const counts = { runs: 0, rowsOfRuns: 0, goneSims: 0, rotations: 0, profiles: 0 };
  const problems: string[] = [];
  for await (const run of ledger.createdBefore(nowMs - rowsMs)) {
    if (signal.aborted) break;
    try {
      if (endedBefore(run, nowMs - rowsMs) && (await runRemoval.hasRows(run.runId))) {
        await runRemoval.removeRows(run, await archived(run, deps));
        counts.rowsOfRuns += 1;
      }
      if (endedBefore(run, nowMs - retention.runsMs)) {
        await runRemoval.remove(run);
        counts.runs += 1;
      }
    } catch (thrown) {
      problems.push(`run ${run.runId}: ${messageOf(thrown)}`);
    }
  }
  for (const profile of profiles) {
    if (signal.aborted) break;
    await syncs.forgetOldClaims(profile);
    const options = { beforeMs: nowMs - retention.goneSimsMs, keyColumn: deps.keyColumnOf(profile) };
    counts.goneSims += await forgetGoneSims(profile, options, deps);
    for (const rotation of await deps.rotations.records(profile)) {
      const isKept = deps.configuredRotations.includes(rotation.name) || !isRotationOver(rotation);
      if (isKept || (rotation.finishedAtMs ?? rotation.startedAtMs) >= nowMs - retention.rotationsMs) continue;
      await deps.rotations.forget(rotation);
      counts.rotations += 1;
    }
  }
  for (const { profile, sinceMs } of await formerProfiles(profiles, deps)) {
    if (signal.aborted || sinceMs >= nowMs - retention.profilesMs) break;
    if (await removeProfile(profile, deps)) counts.profiles += 1;
  }
  await removeUnusedInventories(profiles, deps);
  return { ...counts, problems };
}

/** The path of the archived results; undefined without an archive, and if the removal had started before. */
async function archived(run: RunRecord, { retention, archiveOf }: SweepDeps): Promise<string | undefined> {
  const { archive } = retention;
  if (archive === undefined || run.rowsRemovedAtMs !== undefined) return undefined;
  const { runId, createdAtMs, total } = run;
  return archiveRun(archive, { runId, createdAtMs, total, ...(await archiveOf(run)) });
}

// The archive: the results and the report of a run as files, written before its rows are removed from Redis. A run is
// archived when both files are on disk and the results, read back, have the hash of what was written and a row for every
// row of the run.
//
//   <folder>/2026/11/r-20261120-103045-x7k2m9ab.results.csv.gz
//   <folder>/2026/11/r-20261120-103045-x7k2m9ab.report.json

interface ArchivedRun {
  readonly runId: string;
  readonly createdAtMs: number;
  /** Number of rows. */
  readonly total: number;
  /** Run document, as `runs show --json` prints it. */
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
async function archiveRun(folder: string, run: ArchivedRun): Promise<string> {
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
