/**
 * Work that kills its worker, with the built worker: a rotation is quarantined, and completes once a user has fixed the cause; of
 * a run, the row that kills is quarantined, and the others end by themselves.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import type { Redis } from "ioredis";
import { expect, test } from "vitest";
import type { RotationReport } from "#jobs/credentials/contract.ts";
import { isLong } from "../support/long.ts";
import { until } from "../support/until.ts";
import { CliHarness } from "./support/cli-harness.ts";
import { counted, resultRows } from "./support/results.ts";

// Each death takes the time in which a job's lock ends.
test.runIf(isLong)(
  "a rotation whose sink kills the worker is quarantined after three deaths and can be continued",
  { timeout: 600_000 },
  async () => {
    const config = `seal: { keyFile: seal-key }
rotations:
  mqtt:
    type: psk
    generate: { field: key, bytes: 32, encoding: base64url }
    graceSeconds: 0
    sinks: [ { command: [sh, -c, 'test -e fixed && cat >out/mqtt || kill -9 $PPID'] } ]
`;
    await using harness = await CliHarness.open({ isSoracom: true, config });
    mkdirSync(harness.path("out"));
    harness.sandbox.state.credentials.create("mqtt", { type: "psk", credentials: { key: "before" } });
    const rotate = ["credentials", "rotate", "mqtt", "--yes"];
    expect((await harness.json<RotationReport>([...rotate, "--detach"])).document.state).toBe("planned");
    for (let death = 1; death <= 3; death += 1) await harness.start(["worker"]).ended;
    const worker = await harness.worker();
    const status = async (): Promise<RotationReport | undefined> =>
      (await harness.json<{ rotations: RotationReport[] }>(["credentials", "status"])).document.rotations[0];
    await until("the rotation is quarantined", async () => (await status())?.waitsFor === "quarantined");
    const reason = "stopped: its worker crashed three times while processing this";
    expect(await status()).toMatchObject({
      state: "generated",
      reason: `${reason}; continue with: simfleet credentials rotate mqtt`,
    });
    expect(worker.stderr).toMatch(new RegExp(`"level":"error".*rotation mqtt .*generated: ${reason}`));
    writeFileSync(harness.path("fixed"), "");
    expect(await harness.run(rotate)).toMatchObject({ code: 0 });
    expect((await status())?.state).toBe("done");
  },
);

/** What the time after a death does: the locks and the entry of the process end. */
async function letTimePass(redis: Redis): Promise<void> {
  const keys = await redis.keys("{simfleet}:*");
  const ended = keys.filter((key) => /:lock$|:stalled-check$|:workers:/.test(key));
  if (ended.length > 0) await redis.del(...ended);
}

// The first five deaths fall on any row, and the last three on the one that kills.
test.runIf(isLong)(
  "of a segment whose workers are killed eight times only the row that kills is quarantined, and the others are done",
  { timeout: 600_000 },
  async () => {
    await using harness = await CliHarness.open({ sims: 20, latencyMs: 300 });
    await harness.fleet("fleet.csv", 20);
    const redis = await harness.redis();
    const deadly = harness.simId(0);
    const { runId } = (await harness.json(["apply", "fleet.csv", "--yes", "--detach"])).document;
    for (let death = 1; death <= 8; death += 1) {
      const calls = (): number => (death <= 5 ? harness.changes : harness.sandbox.state.acceptedChanges(deadly));
      const before = calls();
      const worker = await harness.worker();
      await until(`death ${death} has its call in flight`, () => calls() > before);
      worker.kill("SIGKILL");
      await worker.ended;
      await letTimePass(redis);
    }
    await harness.worker();
    await harness.untilState(runId, "completed");
    const rows = resultRows((await harness.run(["runs", "results", runId])).stdout);
    expect(counted(rows.map(({ outcome = "" }) => outcome))).toEqual({ done: 19, failed: 1 });
    const reason = "stopped: its worker crashed three times while processing this";
    expect(rows.find(({ simId }) => simId === deadly)).toMatchObject({ outcome: "failed", reason });
  },
);
