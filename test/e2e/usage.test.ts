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

/** A fleet that was read once. */
async function setup(config: string, secretFiles: Readonly<Record<string, string>> = { "usage.yaml": deployment }) {
  const env = { SIMFLEET_COVERAGE: "g" };
  const harness = await CliHarness.open({ sims: 20, operations: "all", exportMs: 0, config, secretFiles, env });
  await harness.run(["sims", "sync"]);
  return harness;
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
  const { code, stderr } = await harness.run(["sims", "sync", "--usage"]);
  expect([code, stderr]).toEqual([2, expect.stringContaining("downloads.hosts of the platform definition is empty")]);
  expect(harness.sandbox.state.totals.byOperation).not.toHaveProperty("exportUsage");
});

/** How many rows all runs have. */
async function rowsOfRuns(harness: CliHarness): Promise<number> {
  const { document } = await harness.json<{ runs: { counts: { total: number } }[] }>(["runs", "list"]);
  return document.runs.reduce((sum, { counts }) => sum + counts.total, 0);
}

/** The SIM of each event about a crossed threshold. */
async function simsThatCrossed(harness: CliHarness): Promise<string[]> {
  const events = ["events", "tail", "--since", "1h", "--type", "sim.usage-crossed"];
  const { document } = await harness.json<{ events: { fields: { sim: string } }[] }>(events);
  return document.events.map(({ fields }) => fields.sim);
}

test.concurrent("a schedule reads the usage, and an automation slows each SIM over a threshold once, despite a kill", async () => {
  await using harness = await setup(slowDown);
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
  expect(await rowsOfRuns(harness)).toBe(fast.length);
  expect((await simsThatCrossed(harness)).toSorted()).toEqual(over.toSorted());
});
