/** Calls that must not be repeated: never sent twice, whatever dies or is lost, and no row without an outcome. */
import { randomBytes } from "node:crypto";
import { expect, it, onTestFinished } from "vitest";
import { systemClock } from "#core/time.ts";
import type { Outcome } from "#fleet/run.ts";
import type { SimOperation } from "#fleet/sim-operation/sim-operation.ts";
import { Ledger } from "#jobs/runs/ledger/ledger.ts";
import { seededRandom } from "#sandbox/seeded.ts";
import { type Sandbox, startSandbox } from "#sandbox/server.ts";
import { seeds } from "../../support/long.ts";
import { openTestRedis, redisUrl } from "../../support/redis.ts";
import { kill, startScript } from "../../support/script.ts";
import { keptBounds, readResults, submit } from "./run-of.ts";
import { lanes, sendSms, terminate } from "./unsafe-operations.ts";

const { redis, keys } = openTestRedis();
const ledger = new Ledger({ redis, keys, clock: systemClock, bounds: keptBounds });
const script = new URL("./unsafe-process.ts", import.meta.url);
const kills = seeds(4, 200);
/** Fleets that are worked on at once, each by one process. */
const fleets = 2;
const rowsPerSegment = 20;
const faultShare = 0.02;

/** A run over SIMs of the sandbox, from the one with this number on. */
async function begin(
  sandbox: Sandbox,
  { operation, from, rows }: { operation: SimOperation; from: number; rows: number },
): Promise<string> {
  const segments = Array.from({ length: rows / rowsPerSegment }, () => Array.from({ length: rowsPerSegment }, () => 1));
  const before = operation === terminate ? { before: ["active"] } : {};
  const head = await submit(
    ledger,
    segments,
    { runId: `r-${operation.name}-${randomBytes(4).toString("hex")}`, operations: [operation] },
    (row) => ({
      ...row,
      ...before,
      key: sandbox.state.sims.simIdAt(from + row.index),
      inputs: operation === sendSms ? [`hello ${row.index}`] : [],
    }),
  );
  return head.runId;
}

/** Works on the runs in a process until they are over, or until `isDue` and then kills it. */
async function work(
  { url, runIds, offsetMs }: { url: string; runIds: readonly string[]; offsetMs: number },
  isDue: () => boolean,
): Promise<void> {
  const child = await startScript(script, [redisUrl(), keys.prefix, url, "default", String(offsetMs), ...runIds]);
  while (child.exitCode === null && !isDue()) await systemClock.sleep(1);
  await kill(child);
}

async function outcomesOf(runId: string): Promise<{ key: string; outcome: Outcome }[]> {
  return (await readResults(ledger, runId)).map(({ row: { key }, outcome }) => ({ key, outcome }));
}

it(`a run with unsafe calls sends none twice in ${kills} kills with lost responses and gives every row an outcome`, async () => {
  await Promise.all(Array.from({ length: fleets }, (_, i) => killAndCheck(kills / fleets, i + 1)));
}, 600_000);

/** Kills processes that work on the runs of one fleet, and compares the outcomes with what the sandbox did. */
async function killAndCheck(killsHere: number, seed: number): Promise<void> {
  const rows = killsHere * rowsPerSegment;
  const sandbox = await startSandbox({
    sims: 2 * rows,
    operations: "all",
    records: "soracom",
    latencyMs: [0, 8],
    seed,
    limits: {
      Sim: 1e7,
      Auth: 1e6,
    },
  });
  onTestFinished(() => sandbox.close());
  for (let i = 0; i < rows; i += 1) {
    const simId = sandbox.state.sims.simIdAt(rows + i);
    sandbox.fleet.edit(simId, { status: "active", terminationEnabled: true });
    sandbox.fleet.edit(sandbox.state.sims.simIdAt(i), { status: "active" });
  }
  const runIds = [
    await begin(sandbox, { operation: sendSms, from: 0, rows }),
    await begin(sandbox, { operation: terminate, from: rows, rows }),
  ];
  sandbox.faults.rates = { "lost-answer": faultShare, reset: faultShare };
  const random = seededRandom(seed);
  let offsetMs = 0;
  for (let killed = 0; killed < killsHere; killed += 1) {
    const calls = sandbox.state.totals.calls + 2 + random() * 25;
    await work({ url: sandbox.url, runIds, offsetMs }, () => sandbox.state.totals.calls >= calls);
    offsetMs += 60_000;
  }
  sandbox.faults.rates = {};
  await work({ url: sandbox.url, runIds, offsetMs }, () => false);

  const lost = sandbox.faults.counts["lost-answer"] ?? 0;
  const reset = sandbox.faults.counts.reset ?? 0;
  const seen = { sms: new Map<Outcome, number>(), terminate: new Map<Outcome, number>() };
  for (const [i, runId] of runIds.entries()) {
    const call = i === 0 ? "sendSimSms" : "terminateSim";
    const tally = i === 0 ? seen.sms : seen.terminate;
    for (const { key, outcome } of await outcomesOf(runId)) {
      tally.set(outcome, (tally.get(outcome) ?? 0) + 1);
      const effects = sandbox.state.effectsOn(key)[call] ?? 0;
      expect(effects, `${call} of ${key}, ${outcome}`).toBeLessThanOrEqual(1);
      if (outcome === "done") expect(effects, `${call} of ${key}`).toBe(1);
      if (outcome === "failed" || outcome === "rejected") expect(effects, `${call} of ${key}, ${outcome}`).toBe(0);
    }
    expect((await ledger.run(runId)).state).toBe("completed");
    expect([...tally.values()].reduce((sum, count) => sum + count, 0)).toBe(rows);
  }
  const unknown = seen.sms.get("unknown") ?? 0;
  console.log(
    `${killsHere} kills, ${lost} lost answers, ${reset} cut connections: SMS ${text(seen.sms)}; terminations ${text(seen.terminate)}`,
  );
  expect(unknown).toBeLessThanOrEqual(killsHere * lanes + lost + reset);
  expect(unknown).toBeGreaterThan(0);
  // The record shows what became of a termination.
  expect(seen.terminate.get("unknown") ?? 0).toBe(0);
}

function text(tally: ReadonlyMap<Outcome, number>): string {
  return [...tally].map(([outcome, count]) => `${count} ${outcome}`).join(", ");
}
