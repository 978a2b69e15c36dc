/** One request, repeated with its Idempotency-Key while the worker is killed: one run, all of it done. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { seededShare } from "#sandbox/seeded.ts";
import { seeds } from "../support/long.ts";
import { until } from "../support/until.ts";
import { type RunDocument, CliHarness } from "./support/cli-harness.ts";

const rows = 40;
/** Requests that one blow hits, each at another moment of its life. */
const rounds = Array.from({ length: seeds(1, 5) }, (_, round) => [1, 2, 3].map((n) => 3 * round + n));

/** A client that sends a request again under its name, to a worker that is killed. */
async function openClient(harness: CliHarness) {
  const body = await harness.read(await harness.fleet("fleet.csv", rows));
  const runIds = new Map<string, string>();
  let worker = await harness.worker();
  /** Undefined where no response came. */
  const ask = (path: string, init?: RequestInit): Promise<Response | undefined> =>
    harness.ask(worker, path, init).catch(() => undefined);
  const send = (name: string): Promise<Response | undefined> => {
    const headers = { "content-type": "text/csv", "idempotency-key": name };
    return ask(`/v1/runs?name=${name}`, { method: "POST", body, headers });
  };
  const isAnswered = async (name: string): Promise<boolean> => {
    const answer = await send(name);
    // A worker that has just come up may say that it is too busy.
    if (answer?.status !== 202) return false;
    runIds.set(name, ((await answer.json()) as RunDocument).runId);
    return true;
  };
  /** Sends requests within this time, kills the worker at its end, and repeats them. @returns how many got lost */
  const sendAndKill = async (seedsOfRequests: readonly number[], spreadMs: number): Promise<number> => {
    const first = seedsOfRequests.map(async (seed) => {
      await sleep(seededShare(2_026, seed) * spreadMs);
      return send(`seed-${seed}`);
    });
    await sleep(spreadMs);
    await worker.end("SIGKILL");
    worker = await harness.worker();
    const lost = (await Promise.all(first)).filter((answer) => answer === undefined);
    for (const seed of seedsOfRequests) await until(`${seed} is answered`, () => isAnswered(`seed-${seed}`));
    return lost.length;
  };
  /** All runs, once all are over. */
  const endedRuns = async (): Promise<readonly RunDocument[]> => {
    let found: readonly RunDocument[] = [];
    const areOver = async (): Promise<boolean> => {
      const answer = await ask("/v1/runs?limit=100");
      if (answer?.status !== 200) return false;
      found = ((await answer.json()) as { runs: RunDocument[] }).runs;
      return found.every(({ finishedAt }) => finishedAt !== null);
    };
    await until("all are over", areOver, 60_000);
    return found;
  };
  /** A time from before a request has arrived to after its response has left, on a machine of this speed. */
  const measureSpread = async (): Promise<number> => {
    const beganMs = performance.now();
    expect(await isAnswered("unharmed")).toBe(true);
    return Math.max(80, 1.5 * (performance.now() - beganMs));
  };
  return { runIds, measureSpread, sendAndKill, endedRuns };
}

test("a run is started once when its worker is killed at any moment", async () => {
  await using harness = await CliHarness.open({ sims: rows });
  const { runIds, measureSpread, sendAndKill, endedRuns } = await openClient(harness);
  const spreadMs = await measureSpread();
  let lost = 0;
  for (const requests of rounds) lost += await sendAndKill(requests, spreadMs);
  const found = await endedRuns();
  expect(Object.fromEntries(found.map(({ runId, name }) => [name, runId]))).toEqual(Object.fromEntries(runIds));
  expect(lost).toBeGreaterThan(0);
  const total = 1 + rounds.flat().length;
  expect([found.length, runIds.size]).toEqual([total, total]);
  // All are on the same SIMs: the one that started last supersedes what is pending of the others.
  expect(found.map(({ counts }) => counts.done + counts.skipped)).toEqual(found.map(() => rows));
  expect(Math.max(...found.map(({ counts }) => counts.done))).toBe(rows);
});
