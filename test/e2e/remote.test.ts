/** Commands with `--server`: a remote worker carries them out, for a machine that has neither its Redis nor its secrets. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { openReceiver } from "../redis/webhooks/receiver.ts";
import { column, counted } from "./support/results.ts";
import type { RunningProcess } from "./support/process.ts";
import { isLong } from "../support/long.ts";
import { CliHarness } from "./support/cli-harness.ts";

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

interface Asked {
  readonly harness: CliHarness;
  readonly worker: RunningProcess;
  readonly url: string;
  /** The settings of a machine that has neither the worker's Redis nor its secrets. */
  readonly remote: Record<string, string>;
  /** Runs the same command locally and remotely, and returns both answers. */
  same<T = object>(...args: string[]): Promise<T>;
}

async function withWorker(config = ""): Promise<Asked> {
  const harness = await CliHarness.open({ sims: 40, isSoracom: true, config });
  const worker = await harness.worker();
  const [, url = ""] = await worker.said(/"http":"([^"]+)"/);
  mkdirSync(harness.path("remote"));
  writeFileSync(harness.path("remote/token"), readFileSync(harness.path("data/admin-token")), { mode: 0o600 });
  const remote = {
    SIMFLEET_CONFIG: "",
    SIMFLEET_DATA_DIR: harness.path("remote/data"),
    SIMFLEET_SERVER: url,
    SIMFLEET_SERVER_TOKEN_FILE: harness.path("remote/token"),
    SIMFLEET_ENDPOINT_GLOBAL: "",
    SIMFLEET_AUTH_KEY_ID: "",
    SIMFLEET_AUTH_KEY: "",
  };
  const same = async (...args: string[]): Promise<never> => {
    const [here, there] = await Promise.all([harness.json<object>(args), harness.json<object>(args, remote)]);
    expect(there).toMatchObject({ code: here.code, document: here.document });
    return there.document as never;
  };
  return { harness, worker, url, remote, same };
}

test.concurrent("a remote worker plans and applies a file and returns its results", async () => {
  const { harness, remote } = await withWorker();
  await using _ = harness;
  await harness.fleet("fleet.csv", 30);
  const planned = await harness.json<{ rows: number; file: string }>(["plan", "fleet.csv"], remote);
  expect(planned).toMatchObject({ code: 0, document: { rows: 30, calls: 30 } });
  const applied = await harness.json(["apply", "fleet.csv", "--yes", "--name", "afar"], remote);
  expect(applied).toMatchObject({ code: 0, document: { name: "afar", state: "completed", counts: { done: 30 } } });
  expect(harness.changes).toBe(30);
  const results = await harness.read(applied.document.results ?? "");
  expect(counted(column(results, "outcome"))).toEqual({ done: 30 });
  const { runId } = applied.document;
  expect(await harness.run(["runs", "results", runId], remote)).toMatchObject({ code: 0, stdout: results });
  const here = await harness.json(["runs", "show", runId]);
  expect((await harness.json(["runs", "show", runId], remote)).document).toEqual(here.document);
  const list = await harness.json<{ runs: unknown[] }>(["runs", "list"], remote);
  expect(list.document.runs).toEqual([here.document]);
  expect((await harness.json<{ buckets: unknown[] }>(["quota"], remote)).document.buckets).not.toEqual([]);
  const audit = await harness.json<{ entries: { target: string }[] }>(["audit", "list"], remote);
  expect(audit.document.entries.map(({ target }) => target)).toContain(runId);
});

test
  .runIf(isLong)
  .concurrent("an event tail continues after the remote worker was killed and shows every event once", async () => {
    const { harness, worker, remote, url } = await withWorker();
    await using _ = harness;
    const tail = harness.start(["events", "tail", "--follow", "--type", "run.*", "--json"], remote);
    await harness.fleet("one.csv", 3);
    await harness.run(["apply", "one.csv", "--yes"]);
    await tail.said(/"type":"run.completed"/, "stdout");
    worker.kill("SIGKILL");
    await tail.said(/Trying again/);
    const away = await harness.json(["apply", "one.csv", "--yes", "--name", "away"]);
    expect(away).toMatchObject({ code: 0, document: { state: "completed" } });
    await harness.worker({ SIMFLEET_HTTP_PORT: new URL(url).port });
    await tail.said(/"type":"run.completed".*"name":"away"/, "stdout");
    tail.kill("SIGINT");
    const seen = (await tail.ended).stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { id: string; type: string });
    expect(seen.map(({ type }) => type)).toEqual(["run.submitted", "run.completed", "run.submitted", "run.completed"]);
    expect(new Set(seen.map(({ id }) => id)).size).toBe(4);
  });

test.concurrent("a remote worker refuses with the same message and exit code as a local command", async () => {
  const { harness, remote, url } = await withWorker();
  await using _ = harness;
  await harness.write("bad.csv", "simId\nno/sense\n");
  const refused = await harness.json<{ error: { code: string } }>(["plan", "bad.csv"], remote);
  expect(refused).toMatchObject({ code: 2, document: { error: { code: "INPUT_INVALID" } } });
  expect(await harness.run(["runs", "show", "r-none"], remote)).toMatchObject({ code: 2 });
  const wrong = { ...remote, SIMFLEET_SERVER_TOKEN_FILE: "", SIMFLEET_SERVER_TOKEN: "sf_wrong" };
  expect(await harness.json(["runs", "list"], wrong)).toMatchObject({
    code: 3,
    document: { error: { code: "UNAUTHENTICATED" } },
  });
  const nobody = { ...remote, SIMFLEET_SERVER: "http://127.0.0.1:9" };
  expect(await harness.json(["quota"], nobody)).toMatchObject({
    code: 4,
    document: { error: { code: "WORKER_UNREACHABLE" } },
  });
  const local = await harness.run(["check", "--server", url]);
  expect(local).toMatchObject({ code: 2, stderr: expect.stringContaining("leave out --server") });
  // On its own data directory the worker's own token is found.
  expect(await harness.run(["quota", "--server", url])).toMatchObject({ code: 0 });
});

test.concurrent("remote commands read the fleet, undo a run, and resume one", async () => {
  const { harness, remote, same } = await withWorker();
  await using _ = harness;
  const synced = await harness.json<{ state: string; sims: number }>(["sims", "sync"], remote);
  expect(synced).toMatchObject({ code: 0, document: { state: "finished", sims: 40 } });
  const again = await harness.json<{ state: string }>(["sims", "sync", "--restart", "--detach"], remote);
  expect(again).toMatchObject({ code: 0, document: { profile: "default" } });
  const ids = await harness.run(["sims", "export", "--columns", "simId,speedClass"], remote);
  expect(ids).toMatchObject(await harness.run(["sims", "export", "--columns", "simId,speedClass"]));
  expect((await same<{ sims: unknown[] }>("sims", "export", "--where", "speedClass exists")).sims).toHaveLength(40);

  await harness.fleet("fleet.csv", 6, ["s1.8xfast"]);
  const classes = (): unknown[] =>
    [0, 1, 2, 3, 4, 5].map((place) => harness.sandbox.state.speedClassOf(harness.simId(place)));
  const before = classes();
  const { document: run } = await harness.json(["apply", "fleet.csv", "--yes", "--send-unchanged"], remote);
  expect(classes()).not.toEqual(before);
  const redone = await harness.json(["runs", "retry", run.runId, "--outcome", "done", "--yes"], remote);
  expect(redone).toMatchObject({ code: 0, document: { state: "completed", retryOf: run.runId } });
  expect(redone.stderr).toContain(`retries 6 rows of ${run.runId}`);
  const undone = await harness.json(["runs", "undo", run.runId, "--yes"], remote);
  expect(undone).toMatchObject({ code: 0, document: { state: "completed", undoOf: run.runId } });
  expect(classes()).toEqual(before);

  const { document: held } = await harness.json(["apply", "fleet.csv", "--yes", "--rate", "1", "--detach"], remote);
  await harness.json(["runs", "pause", held.runId], remote);
  const resumed = await harness.json(["runs", "resume", held.runId, "--detach"], remote);
  expect(resumed).toMatchObject({ code: 0, document: { state: "running" } });
  await harness.json(["runs", "cancel", held.runId], remote);
  const changes = await same<{ changes: unknown[] }>("sims", "changes", "--by", "run", "--since", "2026-01-01");
  expect(changes.changes.length).toBeGreaterThan(0);
  expect(await harness.run(["runs", "undo", "r-none", "--yes"], remote)).toMatchObject({ code: 2 });
});

test.concurrent("remote commands control schedules, automations, rotations, webhooks, and the freeze", async () => {
  await using receiver = await openReceiver(secret);
  const { harness, remote, same } = await withWorker(
    `seal: { keyFile: seal-key }
schedules: { nightly: { job: sync, cron: "0 3 * * *", timezone: Asia/Tokyo } }
automations: { new-ones: { on: sim.added, job: apply, speedClass: s1.minimum } }
webhooks:
  ops: { url: "${receiver.url}", secret: ${secret}, events: ["schedule.*"] }
authKeys: { default: { sinks: [ { file: auth-key } ] } }
rotations:
  mqtt: { type: psk, generate: { field: key, bytes: 32, encoding: base64url }, sinks: [ { file: mqtt } ] }
`,
  );
  await using _ = harness;
  harness.sandbox.state.credentials.create("mqtt", { type: "psk", credentials: { key: "before" } });
  await Promise.all(["schedules", "automations", "webhooks"].map((noun) => same(noun, "list")));
  const steer = async (noun: string, name: string): Promise<void> => {
    for (const [step, state] of [
      ["pause", "paused"],
      ["resume", "active"],
    ] as const) {
      const taken = await harness.json<{ state: string }>([noun, step, name], remote);
      expect(taken).toMatchObject({ code: 0, document: { name, state } });
    }
  };
  await Promise.all([steer("schedules", "nightly"), steer("automations", "new-ones")]);
  const frozen = await harness.json<object>(["freeze", "on", "--yes", "--reason", "incident 12"], remote);
  expect(frozen).toMatchObject({ code: 0, document: { ordered: { reason: "incident 12", until: null } } });
  expect(await same("freeze", "status")).toEqual(frozen.document);
  expect(await harness.json<object>(["freeze", "off"], remote)).toMatchObject({ document: { ordered: null } });

  expect(await harness.json(["schedules", "trigger", "nightly"], remote)).toMatchObject({ code: 0 });
  const rotated = await harness.json<object>(["credentials", "rotate", "mqtt", "--yes"], remote);
  expect(rotated).toMatchObject({ code: 0, document: { state: "switched", waitsFor: "grace" } });
  await same("events", "tail", "--limit", "3", "--type", "freeze.*");
  await Promise.all([same("credentials", "list"), same("credentials", "status")]);
  expect(await harness.run(["credentials", "confirm", "mqtt"], remote)).toMatchObject({ code: 2 });

  expect(await harness.json(["webhooks", "test", "ops"], remote)).toMatchObject({ code: 0, document: { status: 204 } });
  const renewed = await harness.json<object>(["authkeys", "rotate", "--yes", "--detach"], remote);
  expect(renewed).toMatchObject({ code: 0, document: { profile: "default", reason: null } });
  const replay = await harness.run(["automations", "replay", "new-ones"], remote);
  expect(replay).toMatchObject({ code: 2, stderr: expect.stringContaining("only works locally") });
  const help = await Promise.all(["check", "freeze status"].map((one) => harness.run([...one.split(" "), "--help"])));
  expect(help.map(({ stdout }) => stdout.includes("--server"))).toEqual([false, true]);
});
