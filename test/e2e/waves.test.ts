/** A change that takes a share of its SIMs offline stops with its first wave, whenever the worker is killed. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { seededRandom } from "#sandbox/seeded.ts";
import type { RunReport } from "#jobs/runs/contract.ts";
import { seeds } from "../support/long.ts";
import { until } from "../support/until.ts";
import { CliHarness } from "./support/cli-harness.ts";

vi.setConfig({ testTimeout: 1_800_000 });

const wave = 60;
const sims = 300;
const lanes = 4;
const gate = "sessionStatus.online=true >= 95%";

/** A fleet that is online, of which 30 % go offline with a change of their class. */
async function setup(seed: number): Promise<CliHarness> {
  const harness = await CliHarness.open({
    isSoracom: true,
    seed,
    sims,
    latencyMs: [5, 20],
    takesOffline: { updateSimSpeedClass: 0.3 },
    env: { SIMFLEET_CONNECTIONS: String(lanes), SIMFLEET_INVENTORY_FIELDS: "[speedClass, sessionStatus]" },
  });
  const set = { sessionStatus: { online: true } };
  harness.sandbox.fleet.change({ edit: Array.from({ length: sims }, (_, i) => ({ id: harness.simId(i), set })) });
  await harness.redis();
  expect((await harness.run(["sims", "sync"])).code).toBe(0);
  await harness.fleet("fleet.csv", sims, ["s1.minimum"]);
  return harness;
}

/** While the wave is changed, while it soaks, or while its SIMs are read again. */
async function untilBlow(harness: CliHarness, random: () => number): Promise<void> {
  const moment = Math.floor(random() * 140);
  await harness.untilChanges(Math.min(wave, 1 + moment));
  if (moment < wave) return;
  if (moment < 80) await sleep(50 * (moment - wave));
  else await until("SIMs are read again", () => readsOf(harness) >= Math.min(wave, moment - 79));
}

const readsOf = (harness: CliHarness): number => harness.sandbox.state.totals.byOperation["getSim"] ?? 0;

/** How many runs undo this one, when they are over. */
async function undosOf(harness: CliHarness, { runId, reason = "" }: RunReport): Promise<number> {
  const [, undoId] = / Run (\S+) undoes it$/.exec(reason) ?? [];
  if (undoId !== undefined) await harness.untilState(undoId, "completed");
  const { runs } = (await harness.json<{ runs: RunReport[] }>(["runs", "list"])).document;
  return runs.filter(({ undoOf }) => undoOf === runId).length;
}

async function killInWave(seed: number): Promise<string | undefined> {
  const hasUndo = seed % 3 === 0;
  await using harness = await setup(seed);
  const worker = await harness.worker();
  const waves = ["--waves", `${wave},100%`, "--soak", "1s", "--gate", gate, "--on-failure", hasUndo ? "undo" : "pause"];
  const { document } = await harness.json(["apply", "fleet.csv", "--yes", "--detach", "--send-unchanged", ...waves]);
  await untilBlow(harness, seededRandom(seed));
  await worker.end("SIGKILL");
  await harness.worker();
  await harness.untilState(document.runId, "paused");
  const run = (await harness.json<RunReport>(["runs", "show", document.runId])).document;
  const undos = await undosOf(harness, run);
  const changed = Array.from({ length: sims }, (_, i) => harness.sandbox.state.acceptedChanges(harness.simId(i)));
  const { check } = run.waves?.parts[0] ?? {};
  const found = {
    counts: [run.counts.done, run.counts.pending],
    changedSims: changed.filter((count) => count > 0).length,
    isRepeatedInFlight: harness.changes - wave * (1 + undos) <= 4 * lanes,
    isReadOnce: readsOf(harness) - wave <= 1,
    check: [check?.judged, check?.before, check?.isHeld],
    undos,
  };
  const expected = {
    counts: [wave, sims - wave],
    changedSims: wave,
    isRepeatedInFlight: true,
    isReadOnce: true,
    check: [wave, wave, false],
    undos: hasUndo ? 1 : 0,
  };
  return JSON.stringify(found) === JSON.stringify(expected) ? undefined : `seed ${seed}: ${JSON.stringify(found)}`;
}

const all = seeds(2, 50);

test(`a bad change stops with its first wave in each of ${all} seeds with kills, beyond it nothing is changed`, async () => {
  const failed: string[] = [];
  // One of two has an undo.
  const left = Array.from({ length: all }, (_, i) => i + 2).values();
  const lane = async (): Promise<void> => {
    for (const seed of left) {
      const fault = await killInWave(seed).catch((thrown: unknown) => `seed ${seed}: ${String(thrown)}`);
      if (fault !== undefined) failed.push(fault);
    }
  };
  await Promise.all([lane(), lane(), lane()]);
  console.log(`${all - failed.length} of ${all} runs stopped with their first wave`);
  expect(failed).toEqual([]);
});
