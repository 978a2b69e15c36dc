/** Commands with `--server`: a remote worker carries them out, for a machine without its Redis and its secrets. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { column, counted } from "./support/results.ts";
import { isLong } from "../support/long.ts";
import { CliHarness } from "./support/cli-harness.ts";

/** A worker. `remote`: the settings of a machine that has neither its Redis nor its secrets */
async function setup() {
  const harness = await CliHarness.open({ sims: 40, isSoracom: true, rows: 30 });
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
  return { harness, worker, url, remote };
}

test.concurrent("a remote worker plans and applies a file and returns its results", async () => {
  const { harness, remote } = await setup();
  await using _ = harness;
  const planned = await harness.json<{ rows: number; file: string }>(["plan", "fleet.csv"], remote);
  expect(planned).toMatchObject({ code: 0, document: { rows: 30, calls: 30 } });
  const applied = await harness.json(["apply", "fleet.csv", "--yes", "--name", "afar"], remote);
  expect(applied).toMatchObject({ code: 0, document: { name: "afar", state: "completed", counts: { done: 30 } } });
  expect(harness.changes).toBe(30);
  const results = await harness.read(applied.document.results ?? "");
  expect(counted(column(results, "outcome"))).toEqual({ done: 30 });
  const again = await harness.run(["runs", "results", applied.document.runId], remote);
  expect(again).toMatchObject({ code: 0, stdout: results });
});

/** Follows the events of two runs; the worker is killed between them, and comes back. @returns what was shown */
async function followOverRestart({ harness, worker, remote, url }: Awaited<ReturnType<typeof setup>>) {
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
  const lines = (await tail.end("SIGINT")).stdout.trim().split("\n");
  return lines.map((line) => JSON.parse(line) as { id: string; type: string });
}

test
  .runIf(isLong)
  .concurrent("an event tail continues after the remote worker was killed and shows every event once", async () => {
    const asked = await setup();
    await using _ = asked.harness;
    const seen = await followOverRestart(asked);
    expect(seen.map(({ type }) => type)).toEqual(["run.submitted", "run.completed", "run.submitted", "run.completed"]);
    expect(new Set(seen.map(({ id }) => id)).size).toBe(4);
  });

test.concurrent("a wrong token has an exit code of its own", async () => {
  const { harness, remote } = await setup();
  await using _ = harness;
  const wrong = { ...remote, SIMFLEET_SERVER_TOKEN_FILE: "", SIMFLEET_SERVER_TOKEN: "sf_wrong" };
  const refused = await harness.json(["runs", "list"], wrong);
  expect(refused).toMatchObject({ code: 3, document: { error: { code: "UNAUTHENTICATED" } } });
});
