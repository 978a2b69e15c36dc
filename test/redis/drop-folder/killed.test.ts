/**
 * kill -9 of the processes that watch a folder, at any moment: each file ends in done/ or failed/ once, becomes one
 * run, and makes its changes, whichever process continues with it.
 */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { systemClock } from "#core/time.ts";
import { execute } from "#jobs/runs/work/execute.ts";
import { seededRandom } from "#sandbox/seeded.ts";
import type { RunRecord } from "#jobs/runs/ledger/run-record.ts";
import { forEachSeed, seeds } from "../../support/long.ts";
import { openTestRedis, redisUrl } from "../../support/redis.ts";
import { kill, startScript } from "../../support/script.ts";
import { until } from "../../support/until.ts";
import { FleetHarness } from "../inventory/fleet-harness.ts";
import { allRuns, keptBounds } from "../ledger/run-of.ts";
import { workContext } from "../ledger/work-context.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const { redis, keys } = openTestRedis();
const script = new URL("./drop-process.ts", import.meta.url);
const rounds = seeds(2, 26);
const rowsPerFile = 8;

interface DroppedFile {
  readonly name: string;
  readonly places: readonly number[];
  readonly speedClass: string;
  readonly isGood: boolean;
}

/** A folder, the processes that watch it, and a fleet whose SIMs its files change. */
class Dropped {
  readonly folder = temporaryFolder();
  readonly fleet: FleetHarness;
  readonly files: DroppedFile[] = [];
  readonly #worked = new AbortController();
  #working: Promise<void> = Promise.resolve();

  private constructor(fleet: FleetHarness) {
    this.fleet = fleet;
    for (const place of ["processing", "done", "failed"]) mkdirSync(join(this.folder, place));
    onTestFinished(async () => {
      this.#worked.abort();
      await this.#working;
    });
  }

  static async open(seed: number): Promise<Dropped> {
    const fleet = await FleetHarness.open({ redis, keys }, { sims: 80, seed });
    for (let place = 0; place < 80; place += 1) fleet.sandbox.state.sims.setSpeedClass(place, "s1.minimum");
    const dropped = new Dropped(fleet);
    dropped.#working = dropped.#workOffRuns();
    return dropped;
  }

  /** Runs are worked off here, so that what is killed is the watching alone. */
  async #workOffRuns(): Promise<void> {
    const { ledger, account, profile } = this.fleet;
    const collaborators = { redis, keys, bounds: keptBounds, clock: systemClock };
    const context = workContext(collaborators, { ledger, lanes: 4, account: () => account });
    const { signal } = this.#worked;
    while (!signal.aborted) {
      const runs = (await ledger.running()).filter((run) => run.profile === profile);
      for (const run of runs) {
        for (const segment of run.segments.keys()) {
          await execute({ runId: run.runId, segment }, context, signal);
        }
      }
      await systemClock.sleep(10, signal).catch(() => undefined);
    }
  }

  /** One file, under a name that others have had, good or with a row that spoils it. */
  drop(name: string, isGood: boolean): void {
    const at = this.files.length * rowsPerFile;
    const places = Array.from({ length: rowsPerFile }, (_, i) => at + i);
    const speedClass = isGood ? (this.files.length % 2 === 0 ? "s1.fast" : "s1.slow") : "s1.minimum";
    const rows = places.map((place) => `${this.fleet.sandbox.state.sims.simIdAt(place)},${speedClass}\n`);
    if (!isGood) rows.push("8.94231E+18,s1.fast\n");
    writeFileSync(join(this.folder, `.${name}`), `simId,speedClass\n${rows.join("")}`);
    renameSync(join(this.folder, `.${name}`), join(this.folder, name));
    this.files.push({ name, places, speedClass, isGood });
  }

  watcher(): Promise<ChildProcess> {
    return startScript(script, [redisUrl(), keys.prefix, this.folder, this.fleet.profile]);
  }

  in(place: string): string[] {
    return readdirSync(join(this.folder, place), { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => name);
  }

  /** Whether some files have been taken, and not all have ended. */
  get isInProgress(): boolean {
    const ended = [...this.in("done"), ...this.in("failed")].filter((name) => /\w{8}\.csv$/.test(name)).length;
    return this.in("processing").length > 0 || (ended > 0 && ended < this.files.length);
  }

  get isOver(): boolean {
    const waiting = this.in(".").concat(this.in("processing"));
    return waiting.filter((name) => !name.startsWith(".")).length === 0;
  }

  async runs(): Promise<RunRecord[]> {
    return (await allRuns(this.fleet.ledger)).filter(({ profile }) => profile === this.fleet.profile);
  }
}

/** What every file has come to, by the file system, the ledger, the feed and the platform. */
async function expectEachOnce(dropped: Dropped): Promise<void> {
  const { files, fleet, folder } = dropped;
  const [good, bad] = [files.filter(({ isGood }) => isGood), files.filter(({ isGood }) => !isGood)];
  const stems = (list: readonly DroppedFile[]): string[] => list.map(({ name }) => name).toSorted();
  const original = (name: string): string =>
    name.replace(/\.r-\d{8}-\d{6}-\w{8}(\.results|\.problem)?\.(csv|txt)$/, ".csv");
  const originals = (place: string, kind: RegExp): string[] =>
    dropped
      .in(place)
      .filter((name) => kind.test(name))
      .map(original)
      .toSorted();
  expect(originals("done", /-\w{8}\.csv$/)).toEqual(stems(good));
  expect(originals("failed", /-\w{8}\.csv$/)).toEqual(stems(bad));
  expect(originals("done", /\.results\.csv$/)).toEqual(stems(good));
  expect(originals("failed", /\.problem\.txt$/)).toEqual(stems(bad));
  expect([dropped.in("."), dropped.in("processing")]).toEqual([[], []]);
  const runs = await dropped.runs();
  expect(runs.map(({ name }) => name).toSorted()).toEqual(stems(good));
  for (const { runId, state, tally, name, submittedBy } of runs) {
    expect([state, tally.done, submittedBy]).toEqual(["completed", rowsPerFile, "drop-folder"]);
    const results = readFileSync(join(folder, "done", name.replace(/csv$/, `${runId}.results.csv`)), "utf8");
    expect(results.match(/,done,/g)).toHaveLength(rowsPerFile);
  }
  for (const { places, speedClass } of files) {
    for (const place of places) expect(fleet.sandbox.state.sims.speedClassAt(place)).toBe(speedClass);
  }
  const events = await fleet.events(["file.taken", "file.done", "file.failed", "file.rejected"]);
  const reported = events.map(({ type, file }) => `${String(type)} ${String(file)}`);
  const wanted = files.flatMap(({ name, isGood }) => [
    `file.taken ${name}`,
    `file.${isGood ? "done" : "rejected"} ${name}`,
  ]);
  expect(reported.toSorted()).toEqual(wanted.toSorted());
}

/** Drops four files, and waits for some moment while they are worked on, or after it. */
async function dropFiles(dropped: Dropped, random: () => number): Promise<void> {
  for (const [i, name] of ["fleet.csv", "nightly.csv", "fleet.csv", "spoiled.csv"].entries()) {
    // The second of a name comes when the first was taken.
    await until(`${name} is free`, () => !dropped.in(".").includes(name));
    dropped.drop(name, name !== "spoiled.csv");
    if (i === 0 || random() < 0.5) continue;
    await until("something is taken", () => dropped.in("processing").length > 0 || dropped.isOver);
  }
  await new Promise((resolve) => setTimeout(resolve, random() * 160));
}

/** Waits until all files have ended, and a watcher has stopped, with the reports and sweeps that it started. */
async function finish(dropped: Dropped, seed: number, watcher: ChildProcess): Promise<void> {
  await until(`all files of seed ${seed} have ended`, () => dropped.isOver);
  const gone = once(watcher, "exit");
  watcher.kill("SIGTERM");
  await gone;
}

it(`each file becomes one run after each of ${rounds} kills by seed, even with two processes on one folder`, async () => {
  let inProgress = 0;
  await forEachSeed(rounds, 2, async (seed) => {
    const dropped = await Dropped.open(seed);
    const [first, second] = [await dropped.watcher(), seed % 2 === 0 ? await dropped.watcher() : undefined];
    await dropFiles(dropped, seededRandom(seed));
    await kill(first);
    if (dropped.isInProgress) inProgress += 1;
    await finish(dropped, seed, second ?? (await dropped.watcher()));
    await expectEachOnce(dropped);
  });
  console.log(`${inProgress} of ${rounds} watchers were killed while some file had been taken and not all had ended`);
  expect(inProgress).toBeGreaterThan(rounds / 3);
}, 600_000);
