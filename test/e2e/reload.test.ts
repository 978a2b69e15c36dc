/** A worker takes changes of the configuration file's tasks while it runs, all of them or none. */
import { writeFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { until } from "../support/until.ts";
import { CliHarness } from "./support/cli-harness.ts";
import type { RunningProcess } from "./support/process.ts";

const nightly = 'schedules: { nightly: { cron: "0 3 * * *", job: sync } }\n';
// Not each second: on a slow machine the last sync would be in progress at each look.
const often = 'schedules: { often: { cron: "*/3 * * * * *", job: sync } }\n';

/** A profile whose AuthKey is in a file that a rotation replaces. */
const ofFile = "profiles: { default: {}, robot: { coverage: g, credentials: { authKeyFile: robot-key } } }\n";
const keyOf = (id: string): string => JSON.stringify({ authKeyId: id, authKey: "secret-robot" });

async function setup(sims = 100, profiles = ""): Promise<{ harness: CliHarness; worker: RunningProcess }> {
  const secretFiles = { "robot-key": keyOf("keyId-robot-1") };
  const config = `${nightly}${profiles}`;
  const harness = await CliHarness.open({ sims, rows: sims, limits: { Sim: 400 }, config, secretFiles });
  return { harness, worker: await harness.worker() };
}

/** What the worker says each time that it is ready: its address, and the name of its tasks. */
function starts({ stderr }: RunningProcess): { http: string; configuration: string }[] {
  const lines = stderr.split("\n").filter((line) => line.includes("the worker is ready"));
  return lines.map((line) => JSON.parse(line) as { http: string; configuration: string });
}

/** Waits until the worker has said so often that it is ready. */
async function reloaded(worker: RunningProcess, times = 2): Promise<{ http: string; configuration: string }> {
  await until("the worker has restarted its work", () => starts(worker).length >= times, 60_000).catch(
    (thrown: unknown) => {
      throw new Error(`the worker said: ${worker.stderr}`, { cause: thrown });
    },
  );
  const last = starts(worker).at(-1);
  if (last === undefined) throw new Error("it has not");
  return last;
}

async function lastOf(harness: CliHarness, name: string): Promise<string | undefined> {
  const { document } = await harness.json<{ schedules: { name: string; last: { result: string } | null }[] }>([
    "schedules",
    "list",
  ]);
  return document.schedules.find((one) => one.name === name)?.last?.result;
}

const events = async (harness: CliHarness): Promise<string> =>
  (await harness.run(["events", "tail", "--type", "configuration.*", "--json"], { SIMFLEET_CONFIG: "" })).stdout;

describe.concurrent("the configuration of a running worker", () => {
  test("tasks that are not valid are rejected, an event says why, and the worker works on as before", async () => {
    const { harness, worker } = await setup();
    await using _ = harness;
    await harness.write("simfleet.yaml", often.replace("sync", "nothing"));
    await until("it is rejected", async () => (await events(harness)).includes("configuration.rejected"));
    expect(await events(harness)).toMatch(/schedules\.often\.job/);
    await harness.write("simfleet.yaml", nightly);
    await until("it is read again", () => worker.stderr.includes("its tasks are the same"));
    expect((await fetch(`${starts(worker)[0]?.http}/healthz`)).status).toBe(200);
    expect(starts(worker)).toHaveLength(1);
  });

  test("changed tasks are taken without a restart, and check, /healthz and events name them", async () => {
    const { harness, worker } = await setup();
    await using _ = harness;
    await harness.write("simfleet.yaml", often);
    const { http, configuration } = await reloaded(worker);
    await until("the new schedule acts", async () => (await lastOf(harness, "often")) === "done");
    expect((await harness.run(["check"])).stdout).toContain(`simfleet.yaml, tasks ${configuration}\n`);
    expect(await (await fetch(`${http}/healthz`)).json()).toMatchObject({ status: "ok", configuration });
    expect(await events(harness)).toContain(`"hash":"${configuration}"`);
    expect((await worker.end()).code).toBe(0);
  });

  test("a profile that is taken away without a task needs a restart, but a replaced secret file does not", async () => {
    const { harness, worker } = await setup(100, ofFile);
    await using _ = harness;
    await writeFile(harness.path("robot-key"), keyOf("keyId-robot-2"));
    await harness.write("simfleet.yaml", `${nightly}${ofFile}# the same profiles\n`);
    await until("it is read", () => worker.stderr.includes("its tasks are the same"));
    expect(worker.stderr).not.toContain("need a restart");
    await harness.write("simfleet.yaml", nightly);
    await until("it says so", () => worker.stderr.includes("the configuration has changes that need a restart"));
  });

  test("a change that comes while the worker restarts its work is taken next", async () => {
    const { harness, worker } = await setup();
    await using _ = harness;
    await harness.write("simfleet.yaml", often);
    await worker.said(/restarts its work/);
    await harness.write("simfleet.yaml", nightly);
    const { configuration } = await reloaded(worker, 3);
    expect(configuration).toBe(starts(worker)[0]?.configuration);
  });

  test("a run goes on while its worker takes changed tasks", async () => {
    const { harness, worker } = await setup(1_500);
    await using _ = harness;
    const runId = (await harness.run(["apply", "fleet.csv", "--yes", "--detach"])).stdout.trim();
    await harness.untilChanges(20);
    await harness.write("simfleet.yaml", often);
    worker.kill("SIGHUP"); // at once, not at the next look
    await reloaded(worker);
    const { document } = await harness.json(["runs", "watch", runId]);
    expect([document.state, document.counts.done]).toEqual(["completed", 1_500]);
    expect(harness.changes).toBe(1_500);
  });

  test("a command and a worker with other tasks say so, and the newer worker runs its schedules alone", async () => {
    const { harness, worker } = await setup();
    await using _ = harness;
    await harness.write("other.yaml", often);
    const env = { SIMFLEET_CONFIG: "other.yaml" };
    expect((await harness.run(["schedules", "list"], env)).stderr).toMatch(/Warning: the worker \S+ has another/);
    await harness.worker(env);
    await until("the older worker says so", () => worker.stderr.includes("give all workers the same configuration"));
    await until("the newer one acts", async () =>
      (await harness.run(["check"], env)).stdout.includes("has other tasks"),
    );
  });
});
