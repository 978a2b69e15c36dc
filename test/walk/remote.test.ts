/** Commands that a worker elsewhere carries out: `--server`, as from a machine that has neither its Redis nor its secrets. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { column, counted } from "./support/results.ts";
import type { RunningProcess } from "./support/process.ts";
import { Walk } from "./support/walk.ts";

/** A worker, and what a machine elsewhere knows of it. */
async function withWorker(): Promise<{
  walk: Walk;
  worker: RunningProcess;
  remote: Record<string, string>;
  url: string;
}> {
  const walk = await Walk.open({ sims: 40 });
  const worker = await walk.worker();
  const [, url = ""] = await worker.said(/"http":"([^"]+)"/);
  mkdirSync(walk.path("elsewhere"));
  const token = readFileSync(walk.path("data/admin-token"), "utf8");
  writeFileSync(walk.path("elsewhere/token"), token, { mode: 0o600 });
  const remote = {
    SIMFLEET_DATA_DIR: walk.path("elsewhere/data"),
    SIMFLEET_SERVER: url,
    SIMFLEET_SERVER_TOKEN_FILE: walk.path("elsewhere/token"),
    ...{ SIMFLEET_ENDPOINT_GLOBAL: "", SIMFLEET_AUTH_KEY_ID: "", SIMFLEET_AUTH_KEY: "" },
  };
  return { walk, worker, remote, url };
}

describe.concurrent("a worker elsewhere", () => {
  test("plans and does what a file says, and gives the results back", async () => {
    const { walk, remote } = await withWorker();
    await using _ = walk;
    await walk.fleet("fleet.csv", 30);
    const planned = await walk.json<{ rows: number; file: string }>(["plan", "fleet.csv"], remote);
    expect(planned).toMatchObject({ code: 0, document: { rows: 30, calls: 30 } });
    const applied = await walk.json(["apply", "fleet.csv", "--yes", "--name", "afar"], remote);
    expect(applied).toMatchObject({ code: 0, document: { name: "afar", state: "completed", counts: { done: 30 } } });
    expect(walk.changes).toBe(30);
    const results = await walk.read(applied.document.results ?? "");
    expect(counted(column(results, "outcome"))).toEqual({ done: 30 });
    const { runId } = applied.document;
    expect(await walk.run(["runs", "results", runId], remote)).toMatchObject({ code: 0, stdout: results });
    const here = await walk.json(["runs", "show", runId]);
    expect((await walk.json(["runs", "show", runId], remote)).document).toEqual(here.document);
    const list = await walk.json<{ runs: unknown[] }>(["runs", "list"], remote);
    expect(list.document.runs).toEqual([here.document]);
    expect((await walk.json<{ buckets: unknown[] }>(["quota"], remote)).document.buckets).not.toEqual([]);
    const audit = await walk.json<{ entries: { target: string }[] }>(["audit", "list"], remote);
    expect(audit.document.entries.map(({ target }) => target)).toContain(runId);
  });

  test("is followed on after it was killed: every event once, also those that were told while it was away", async () => {
    const { walk, worker, remote, url } = await withWorker();
    await using _ = walk;
    const tail = walk.start(["events", "tail", "--follow", "--type", "run.*", "--json"], remote);
    await walk.fleet("one.csv", 3);
    await walk.run(["apply", "one.csv", "--yes"]);
    await tail.said(/"type":"run.completed"/, "stdout");
    worker.kill("SIGKILL");
    await tail.said(/Trying again/);
    const away = await walk.json(["apply", "one.csv", "--yes", "--name", "away"]);
    expect(away).toMatchObject({ code: 0, document: { state: "completed" } });
    await walk.worker({ SIMFLEET_HTTP_PORT: new URL(url).port });
    await tail.said(/"type":"run.completed".*"name":"away"/, "stdout");
    tail.kill("SIGINT");
    const seen = (await tail.ended).stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { id: string; type: string });
    expect(seen.map(({ type }) => type)).toEqual(["run.submitted", "run.completed", "run.submitted", "run.completed"]);
    expect(new Set(seen.map(({ id }) => id)).size).toBe(4);
  });

  test("refuses in the words and with the exit code that a command here would have", async () => {
    const { walk, remote, url } = await withWorker();
    await using _ = walk;
    await walk.write("bad.csv", "simId\nno/sense\n");
    const refused = await walk.json<{ error: { code: string } }>(["plan", "bad.csv"], remote);
    expect(refused).toMatchObject({ code: 2, document: { error: { code: "INTAKE_INVALID" } } });
    expect(await walk.run(["runs", "show", "r-none"], remote)).toMatchObject({ code: 2 });
    const wrong = { ...remote, SIMFLEET_SERVER_TOKEN_FILE: "", SIMFLEET_SERVER_TOKEN: "sf_wrong" };
    expect(await walk.json(["runs", "list"], wrong)).toMatchObject({
      code: 3,
      document: { error: { code: "UNAUTHENTICATED" } },
    });
    const nobody = { ...remote, SIMFLEET_SERVER: "http://127.0.0.1:9" };
    expect(await walk.json(["quota"], nobody)).toMatchObject({
      code: 4,
      document: { error: { code: "WORKER_UNREACHABLE" } },
    });
    const local = await walk.run(["check", "--server", url]);
    expect(local).toMatchObject({ code: 2, stderr: expect.stringContaining("leave out --server") });
    // On its own data directory the worker's own token is found.
    expect(await walk.run(["quota", "--server", url])).toMatchObject({ code: 0 });
  });
});
