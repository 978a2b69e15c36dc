/** The audit and a worker that dies between the entry of a change and its result. */
import { expect, test } from "vitest";
import type { AuditEntry } from "#jobs/audit/contract.ts";
import { until } from "../support/until.ts";
import { CliHarness } from "./support/cli-harness.ts";

// Shows S16.
test("a worker killed between the audit entry and the result leaves no change without an entry", async () => {
  const harness = await CliHarness.open({ sims: 5 });
  await using _ = harness;
  const worker = await harness.worker();
  const redis = await harness.redis();
  const endless = new ReadableStream({ start: (body) => body.enqueue(Buffer.from("simId,speedClass\n")) });
  const csv = { "content-type": "text/csv" };
  // Its handler waits for a body that does not end.
  const stuck = harness.ask(worker, "/v1/runs", { method: "POST", headers: csv, body: endless, duplex: "half" });
  await until("the entry of the run is there", async () => (await redis.xlen("{simfleet}:audit")) === 1);
  const json = { "content-type": "application/json" };
  const sent = Array.from({ length: 200 }, (__, n) =>
    harness.ask(worker, "/v1/freeze", {
      method: "POST",
      headers: json,
      body: JSON.stringify({ reason: `change ${n}` }),
    }),
  );
  await until("changes are being made", async () => (await frozen(harness)) > 20);
  worker.kill("SIGKILL");
  await Promise.allSettled([worker.ended, stuck, ...sent]);
  const changes = await frozen(harness);
  const { document } = await harness.json<{ entries: AuditEntry[] }>(["audit", "list", "--limit", "1000"]);
  const entries = document.entries.filter(({ action }) => action === "POST /v1/freeze");
  expect(entries.length).toBeGreaterThanOrEqual(changes);
  expect(entries.filter(({ result }) => result === "done").length).toBeLessThanOrEqual(changes);
  const run = document.entries.filter(({ action }) => action === "POST /v1/runs");
  expect(run).toMatchObject([{ who: "admin-token:admin", result: "not recorded", status: null }]);
  const shown = await harness.run(["audit", "list", "--limit", "1000"]);
  expect(shown.stdout).toMatch(/POST \/v1\/runs .*no result recorded/);
});

async function frozen(harness: CliHarness): Promise<number> {
  const events = await (await harness.redis()).xrange("{simfleet}:events", "-", "+");
  return events.filter(([, fields]) => fields.includes("freeze.started")).length;
}
