/** The audit and a worker that dies between the entry of a change and its result. */
import { describe, expect, test } from "vitest";
import type { AuditEntry } from "#jobs/audit/contract.ts";
import { until } from "../support/until.ts";
import { CliHarness } from "./support/cli-harness.ts";

/** A worker that was killed while it made changes, and while it waited for the rest of a file. */
async function setupKilled() {
  const harness = await CliHarness.open({ sims: 5 });
  const worker = await harness.worker();
  const redis = await harness.redis();
  const post = (path: string, type: string, body: ReadableStream | string) => {
    const init = { method: "POST", headers: { "content-type": type }, body, duplex: "half" } as const;
    return harness.ask(worker, path, init);
  };
  const endless = new ReadableStream({ start: (body) => body.enqueue(Buffer.from("simId,speedClass\n")) });
  const stuck = post("/v1/runs", "text/csv", endless);
  await until("the entry of the run is there", async () => (await redis.xlen("{simfleet}:audit")) === 1);
  const reasons = Array.from({ length: 200 }, (_, n) => JSON.stringify({ reason: `change ${n}` }));
  const sent = reasons.map((reason) => post("/v1/freeze", "application/json", reason));
  await until("changes are being made", async () => (await frozen(harness)) > 20);
  worker.kill("SIGKILL");
  await Promise.allSettled([worker.ended, stuck, ...sent]);
  return harness;
}

async function entriesOf(harness: CliHarness, action: string): Promise<readonly AuditEntry[]> {
  const { document } = await harness.json<{ entries: AuditEntry[] }>(["audit", "list", "--limit", "1000"]);
  return document.entries.filter((entry) => entry.action === action);
}

// Shows S16.
describe.concurrent("a worker killed between the audit entry and the result", () => {
  test("leaves no change without an entry", async () => {
    await using harness = await setupKilled();
    const changes = await frozen(harness);
    const entries = await entriesOf(harness, "POST /v1/freeze");
    expect(entries.length).toBeGreaterThanOrEqual(changes);
    expect(entries.filter(({ result }) => result === "done").length).toBeLessThanOrEqual(changes);
  });

  test("leaves an entry that says that no result was recorded", async () => {
    await using harness = await setupKilled();
    const run = await entriesOf(harness, "POST /v1/runs");
    expect(run).toMatchObject([{ who: "admin-token:admin", result: "not recorded", status: null }]);
    const shown = await harness.run(["audit", "list", "--limit", "1000"]);
    expect(shown.stdout).toMatch(/POST \/v1\/runs .*no result recorded/);
  });
});

async function frozen(harness: CliHarness): Promise<number> {
  const events = await (await harness.redis()).xrange("{simfleet}:events", "-", "+");
  return events.filter(([, fields]) => fields.includes("freeze.started")).length;
}
