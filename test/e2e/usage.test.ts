/** Usage at the command line and in a worker: from the export to the SIM that is slowed down. */
import { expect, test } from "vitest";
import { until } from "../support/until.ts";
import { CliHarness } from "./support/cli-harness.ts";

const deployment = "extends: soracom\nbrand: Svc\ndownloads: { hosts: [127.0.0.1] }\n";
const slowDown = `deployment: ./usage.yaml
usage: { thresholds: [{ name: much, over: 1B, per: month }] }
schedules: { yearly: { cron: "@yearly", job: usage } }
automations:
  slow-down: { on: sim.usage-crossed, where: event.threshold=much, job: apply, speedClass: s1.minimum, rate: 240 }
`;

function setup(config: string, files: Readonly<Record<string, string>> = { "usage.yaml": deployment }) {
  const env = { SIMFLEET_COVERAGE: "g" };
  return CliHarness.open({ sims: 20, operations: "all", exportMs: 0, config, secretFiles: files, env });
}

/** SIMs that have used something, which is the same at any time. */
function used({ sandbox }: CliHarness): string[] {
  const nowMs = Date.now();
  const { exports, sims } = sandbox.state;
  const places = Array.from({ length: 20 }, (_, place) => place);
  return places
    .filter((place) => exports.bytesAt(place, nowMs - 86_400_000, nowMs) > 0)
    .map((place) => sims.simIdAt(place));
}

test.concurrent("a command reads the usage, and lists and exports show it", async () => {
  await using harness = await setup("deployment: ./usage.yaml\n");
  await harness.run(["sims", "sync"]);
  const { document } = await harness.json<{ calls: number; sims: number }>(["sims", "sync", "--usage"]);
  expect(document).toMatchObject({ isOver: true, calls: 4, sims: used(harness).length });
  const [id = ""] = used(harness);
  const { stdout } = await harness.run(["sims", "export", "--columns", "simId,usage.month", "--where", `simId=${id}`]);
  expect(stdout).toMatch(new RegExp(`^simId,usage\\.month\\n${id},[1-9]\\d*\\n$`));
  const list = await harness.run(["sims", "list", "--columns", "simId,usage.day", "--where", "usage.day!=0"]);
  expect(list.stdout.trim().split("\n")).toHaveLength(1 + used(harness).length);
  expect((await harness.run(["sims", "sync", "--usage"])).stdout).toMatch(
    /^\d+ SIMs with usage, 0 over a threshold\n$/,
  );
});

test.concurrent("an export is refused without a host that it may be downloaded from", async () => {
  await using harness = await setup("deployment: ./usage.yaml\n", { "usage.yaml": "extends: soracom\nbrand: Svc\n" });
  await harness.run(["sims", "sync"]);
  const { code, stderr } = await harness.run(["sims", "sync", "--usage"]);
  expect([code, stderr]).toEqual([2, expect.stringContaining("downloads.hosts of the platform definition is empty")]);
  expect(harness.sandbox.state.totals.byOperation).not.toHaveProperty("exportUsage");
});

test.concurrent("a schedule reads the usage, and an automation slows each SIM over a threshold once, despite a kill", async () => {
  await using harness = await setup(slowDown);
  await harness.run(["sims", "sync"]);
  const over = used(harness);
  const { state } = harness.sandbox;
  const fast = over.filter((id) => state.speedClassOf(id) !== "s1.minimum");
  const first = await harness.worker();
  await harness.run(["schedules", "run", "yearly"]);
  await harness.untilChanges(2);
  await first.end("SIGKILL");
  await harness.worker();
  await until("all are slow", () => over.every((id) => state.speedClassOf(id) === "s1.minimum"));
  await harness.run(["sims", "sync", "--usage"]);
  const { document } = await harness.json<{ runs: { runId: string; counts: { total: number } }[] }>(["runs", "list"]);
  expect(document.runs.map(({ counts }) => counts.total).reduce((sum, rows) => sum + rows, 0)).toBe(fast.length);
  const events = ["events", "tail", "--since", "1h", "--type", "sim.usage-crossed"];
  const crossed = await harness.json<{ events: { fields: { sim: string } }[] }>(events);
  expect(crossed.document.events.map(({ fields }) => fields.sim).toSorted()).toEqual(over.toSorted());
});
