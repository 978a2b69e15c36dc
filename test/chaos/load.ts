/**
 * What the workers have to do in a round: runs of safe and unsafe operations over thousands of rows, a sync, and a
 * rotation, all requested at once, and a file for the drop folder. The schedules, the automation and the webhook are in
 * the configuration.
 */
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { seededShare } from "#sandbox/seeded.ts";
import { Keys } from "#redis/keys.ts";
import { runKeys } from "#jobs/runs/ledger/keys.ts";
import { until } from "../support/until.ts";
import { ask, askJson } from "./control.ts";
import { dropFolderOf, droppedSims, type Stage } from "./stage/stage.ts";
import { sleep } from "./time.ts";

export interface PlannedRun {
  readonly operation: string;
  /** What the sandbox calls it. */
  readonly effect: string;
  readonly isSafe: boolean;
  /** First SIM, and the one after the last. */
  readonly sims: readonly [number, number];
  readonly set: Readonly<Record<string, string>>;
}

export interface StartedRun extends PlannedRun {
  readonly runId: string;
  /** It may be cancelled. */
  readonly isSteered?: true;
}

const plannedRuns: readonly PlannedRun[] = [
  {
    operation: "set-speed-class",
    effect: "updateSimSpeedClass",
    isSafe: true,
    sims: [0, 700],
    set: { speedClass: "s1.fast" },
  },
  {
    operation: "set-group",
    effect: "setSimGroup",
    isSafe: true,
    sims: [700, 1200],
    set: { groupId: "6f1f0d52-stadium" },
  },
  {
    operation: "send-sms",
    effect: "sendSimSms",
    isSafe: false,
    sims: [0, 500],
    set: { payload: "hello" },
  },
  {
    operation: "put-tag",
    effect: "putSimTags",
    isSafe: true,
    sims: [1200, 1600],
    set: {
      tagName: "chaos",
      tagValue: "1",
    },
  },
  {
    operation: "report-local-info",
    effect: "reportSimLocalInfo",
    isSafe: false,
    sims: [1600, 1800],
    set: {},
  },
];

/** A run that an operator pauses, resumes and cancels while things break. */
const steeredRun: PlannedRun = {
  operation: "set-group",
  effect: "setSimGroup",
  isSafe: true,
  sims: [1800, 2300],
  set: { groupId: "c3d2a481-trucks" },
};

/** A run that starts when everything is over, to see that nothing is shut. */
export const lastRun: PlannedRun = {
  operation: "set-speed-class",
  effect: "updateSimSpeedClass",
  isSafe: true,
  sims: [2350, 2380],
  set: { speedClass: "s1.slow" },
};

/** @param seed of the idempotency keys */
export async function startRun({ stations, sandbox }: Stage, run: PlannedRun, seed: number): Promise<StartedRun> {
  const [from, to] = run.sims;
  const ids = Array.from({ length: to - from }, (_, i) => sandbox.state.sims.simIdAt(from + i));
  const query = new URLSearchParams({ operation: run.operation, name: run.operation, skipUnchanged: "false" });
  for (const [name, value] of Object.entries(run.set)) query.set(`set.${name}`, value);
  const { runId } = await askJson<{ runId: string }>(stations, {
    method: "POST",
    path: `/runs?${query.toString()}`,
    key: `run-${seed}-${run.operation}-${from}`,
    csv: `simId\n${ids.join("\n")}\n`,
  });
  return { ...run, runId };
}

/** Resolves when the runs of the load are known to Redis. */
export function untilSubmitted({ redis }: Stage): Promise<void> {
  const keys = new Keys();
  const isSubmitted = async (): Promise<boolean> =>
    (await redis.direct.zcard(runKeys(keys).runs())) >= plannedRuns.length;
  return until("the load is submitted", isSubmitted, 60_000);
}

async function steer(stage: Stage, seed: number): Promise<StartedRun> {
  const run = await startRun(stage, steeredRun, seed);
  for (const step of ["pause", "resume", "cancel"]) {
    await sleep(500 + 1_500 * seededShare(seed, step.length));
    await ask(stage.stations, { method: "POST", path: `/runs/${run.runId}/${step}` }).catch((thrown: unknown) => {
      // It is over already, or so by an earlier request whose response was lost.
      if (!String(thrown).includes("RUN_STATE_CONFLICT")) throw thrown;
    });
  }
  return { ...run, isSteered: true };
}

/** Puts a file into the drop folder, as soon as the disk has room for it. */
async function dropFile({ disk, sandbox }: Stage): Promise<void> {
  const [from, to] = droppedSims;
  const ids = Array.from({ length: to - from }, (_, i) => sandbox.state.sims.simIdAt(from + i));
  const path = join(dropFolderOf(disk), "fleet.csv");
  await until(
    "the disk has room for a file",
    () => {
      try {
        writeFileSync(`${path}.part`, `simId\n${ids.join("\n")}\n`);
        renameSync(`${path}.part`, path);
        return true;
      } catch {
        return false;
      }
    },
    30_000,
  );
}

/** Resolves with the runs once everything has been accepted. */
export async function startLoad(stage: Stage, seed: number): Promise<StartedRun[]> {
  const { stations } = stage;
  const [runs] = await Promise.all([
    Promise.all([...plannedRuns.map((run) => startRun(stage, run, seed)), steer(stage, seed)]),
    askJson(stations, { method: "POST", path: "/syncs", key: `sync-${seed}` }),
    askJson(stations, { method: "POST", path: "/rotations/mqtt/rotate", key: `rotate-${seed}` }),
    dropFile(stage),
  ]);
  return runs;
}
