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

test("a run is started once when its worker is killed at any moment", async () => {
  await using harness = await CliHarness.open({ sims: rows });
  const body = await harness.read(await harness.fleet("fleet.csv", rows));
  let worker = await harness.worker();
  /** Undefined where no response came. */
  const ask = (path: string, init?: RequestInit): Promise<Response | undefined> =>
    harness.ask(worker, path, init).catch(() => undefined);
  const runIds = new Map<string, string>();
  let lost = 0;
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
  // From before a request has arrived to after its response has left, on a machine of this speed.
  const beganMs = performance.now();
  expect(await isAnswered("unharmed")).toBe(true);
  const spreadMs = Math.max(80, 1.5 * (performance.now() - beganMs));
  for (const requests of rounds) {
    const first = requests.map(async (seed) => {
      await sleep(seededShare(2_026, seed) * spreadMs);
      if ((await send(`seed-${seed}`)) === undefined) lost += 1;
    });
    await sleep(spreadMs);
    await worker.end("SIGKILL");
    worker = await harness.worker();
    await Promise.all(first);
    for (const seed of requests) await until(`${seed} is answered`, () => isAnswered(`seed-${seed}`));
  }
  const total = 1 + rounds.flat().length;
  let found: readonly RunDocument[] = [];
  await until(
    "all are over",
    async () => {
      // A worker that has just come up may say that it is too busy.
      const answer = await ask("/v1/runs?limit=100");
      if (answer?.status !== 200) return false;
      found = ((await answer.json()) as { runs: RunDocument[] }).runs;
      return found.every(({ finishedAt }) => finishedAt !== null);
    },
    60_000,
  );
  expect(Object.fromEntries(found.map(({ runId, name }) => [name, runId]))).toEqual(Object.fromEntries(runIds));
  expect(lost).toBeGreaterThan(0);
  expect([found.length, runIds.size]).toEqual([total, total]);
  // All are on the same SIMs: the one that started last supersedes what is pending of the others.
  expect(found.map(({ counts }) => counts.done + counts.skipped)).toEqual(found.map(() => rows));
  expect(Math.max(...found.map(({ counts }) => counts.done))).toBe(rows);
});
