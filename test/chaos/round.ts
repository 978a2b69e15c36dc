/**
 * One round, in a process of its own: opens a stage, starts the load, strikes, waits for rest and checks. It prints its
 * result as one line of JSON and ends with 0 if nothing is wrong. Its folder is kept if something is.
 *   node test/chaos/round.ts SEED [calm] [CALM_MEGABYTES]
 */
import { checkFiles, checkKeys, checkLogs, checkProcesses } from "./checks/leftovers.ts";
import { checkRecords } from "./checks/records.ts";
import { checkRows, type RowCounts } from "./checks/rows.ts";
import { internalAnswers } from "./control.ts";
import { lastRun, startLoad, startRun, untilSubmitted } from "./load.ts";
import { planOf } from "./plan.ts";
import { untilRest } from "./rest.ts";
import { openStage, type Stage } from "./stage/stage.ts";
import { type Blow, strike } from "./strike.ts";
import { nowMs } from "./time.ts";

export interface RoundResult {
  readonly seed: number;
  readonly workers: number;
  readonly seconds: number;
  /** Of which until everything was at rest after the faults. */
  readonly restSeconds: number;
  readonly blows: readonly Blow[];
  readonly kills: number;
  readonly platformFaults: Readonly<Record<string, number>>;
  readonly throttled: number;
  readonly counts: RowCounts;
  /** What came to rest last. */
  readonly lastUnrest: string;
  /** Most memory of a worker at the end, MB. */
  readonly megabytes: number;
  readonly faults: readonly string[];
  /** The folder, if something is wrong. */
  readonly kept?: string;
}

const restDeadlineMs = 90_000;
const lastRunDeadlineMs = 20_000;

async function round(stage: Stage, seed: number, { isCalm, calmMb }: Calm): Promise<Omit<RoundResult, "kept">> {
  const beganMs = nowMs();
  const plan = planOf(seed, isCalm);
  await Promise.all(stage.stations.map(({ worker }) => worker.untilReady()));
  const wasReadyInTime = Date.now() < stage.onceDueMs - 500;
  const faults: string[] = [];
  const note = (thrown: unknown): void => void faults.push(thrown instanceof Error ? thrown.message : String(thrown));
  // Some rounds strike while the runs are submitted.
  const load = startLoad(stage, seed);
  if (seed % 4 !== 0) await Promise.race([load, untilSubmitted(stage)]);
  const [damage, runs] = await Promise.all([strike(stage, plan), load]);
  const healedMs = nowMs();
  const lastUnrest = await untilRest(stage, runs, restDeadlineMs).catch((thrown: unknown) => {
    note(thrown);
    return "";
  });
  const restSeconds = (nowMs() - healedMs) / 1_000;
  const restAtMs = Date.now();
  const rows = await checkRows(stage, runs, damage);
  faults.push(...rows.faults, ...(await checkRecords(stage, { wasReadyInTime, latestClockMs: damage.latestClockMs })));
  try {
    const last = await startRun(stage, lastRun, seed);
    await untilRest(stage, [last], lastRunDeadlineMs);
    faults.push(...(await checkRows(stage, [last], damage)).faults);
  } catch (thrown) {
    note(`a run after the faults: ${String(thrown)}`);
  }
  faults.push(...(await checkKeys(stage, restAtMs)), ...checkProcesses(stage, calmMb));
  // A process that is killed cannot remove the file that it is writing.
  if (damage.kills === 0) faults.push(...(await checkFiles(stage)));
  const megabytes = Math.max(...stage.stations.map(({ worker }) => worker.resources()?.megabytes ?? 0));
  const stops = await Promise.all(stage.stations.map(({ worker }) => worker.terminate()));
  for (const tookMs of stops) if (tookMs > 25_000) faults.push(`a worker took ${tookMs} ms to stop`);
  faults.push(...internalAnswers, ...checkLogs(stage));
  return {
    seed,
    workers: plan.workers,
    seconds: (nowMs() - beganMs) / 1e3,
    restSeconds,
    blows: damage.blows.toSorted((a, b) => a.atMs - b.atMs),
    kills: damage.kills,
    platformFaults: stage.sandbox.faults.counts,
    throttled: stage.sandbox.state.totals.throttled,
    counts: rows.counts,
    megabytes,
    faults,
    lastUnrest,
  };
}

interface Calm {
  readonly isCalm: boolean;
  readonly calmMb: number | undefined;
}

const [seedText = "1", ...options] = process.argv.slice(2);
const seed = Number(seedText);
const calmMb = options.map(Number).find((number) => number > 0);
const stage = await openStage(planOf(seed, options.includes("calm")));
let isClosing = false;
const close = async (keepFolder: boolean): Promise<void> => {
  if (isClosing) return;
  isClosing = true;
  await stage.close(keepFolder);
};
for (const signal of ["SIGINT", "SIGTERM", "disconnect"] as const) {
  process.on(signal, () => void close(false).finally(() => process.exit(130)));
}
let result: RoundResult;
try {
  const done = await round(stage, seed, { isCalm: options.includes("calm"), calmMb });
  result = done.faults.length === 0 ? done : { ...done, kept: stage.folder };
} catch (thrown) {
  await close(true);
  throw thrown;
}
await close(result.faults.length > 0);
process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit(result.faults.length > 0 ? 1 : 0));
