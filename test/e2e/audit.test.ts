/** The audit and a worker that dies between the entry of a change and its result. */
import { request } from "node:http";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { until } from "../support/until.ts";
import { CliHarness } from "./support/cli-harness.ts";

interface Entry {
  readonly who: string;
  readonly action: string;
  readonly result: string;
  readonly status: number | null;
}

// Shows S16.
test("a worker killed between the audit entry and the result leaves no change without an entry", async () => {
  const harness = await CliHarness.open({ sims: 5 });
  await using _ = harness;
  const worker = await harness.worker();
  const [, url = ""] = await worker.said(/"http":"([^"]+)"/);
  const redis = await harness.redis();
  const headers = { authorization: `Bearer ${readFileSync(harness.path("data/admin-token"), "utf8").trim()}` };
  // Its handler waits for a body that does not end.
  const stuck = request(`${url}/v1/runs`, { method: "POST", headers: { ...headers, "content-type": "text/csv" } });
  stuck.on("error", () => undefined);
  stuck.write("simId,speedClass\n");
  await until("the entry of the run is there", async () => (await redis.xlen("{simfleet}:audit")) === 1);
  const sent = Array.from({ length: 200 }, (__, n) =>
    fetch(`${url}/v1/freeze`, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify({ reason: `change ${n}` }),
    }).catch(() => undefined),
  );
  await until("changes are being made", async () => (await frozen(harness)) > 20);
  worker.kill("SIGKILL");
  await Promise.all([worker.ended, ...sent]);
  const changes = await frozen(harness);
  const { document } = await harness.json<{ entries: Entry[] }>(["audit", "list", "--limit", "1000"]);
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
