/** A command answers the same locally and by a remote worker: options out of range, and the documents it prints. */
import { beforeAll, describe, expect, test } from "vitest";
import { ControlHarness } from "./support/control-harness.ts";
import type { Ended } from "../support/process-io.ts";
import { runCommand } from "./support/run-command.ts";

const harness = await ControlHarness.ofFile();

const give = (words: readonly string[], where: "local" | "remote"): Promise<Ended> => runCommand(harness, words, where);

describe.each(["local", "remote"] as const)("commands that work %s", (where) => {
  test.each([
    ["sims changes", "--by"],
    ["sims changes", "--field"],
    ["sims changes", "--sim"],
    ["sims changes", "--kind"],
    ["sims changes", "--cursor"],
    ["sims list", "--cursor"],
    ["runs list", "--cursor"],
    ["audit list", "--cursor"],
    ["webhooks deliveries list", "--cursor"],
    ["webhooks deliveries list", "--webhook"],
  ])("`%s` refuses an empty %s", async (command, option) => {
    const { code, stdout } = await give([...command.split(" "), option, ""], where);
    expect([code, stdout]).toEqual([2, ""]);
  });

  test.each(["sims list", "sims changes", "audit list"])(
    "`%s` refuses a limit above the page size",
    async (command) => {
      const { code, stdout, stderr } = await give([...command.split(" "), "--limit", "1001"], where);
      expect([code, stdout]).toEqual([2, ""]);
      expect(stderr).toContain("limit: must be at most 1000");
    },
  );

  test("events are as many as --limit says, and with --since all up to the newest one", async () => {
    const event = { type: "sync.failed", profile: "default", fields: { cause: "c", reason: "why" } } as const;
    await Promise.all(Array.from({ length: 1_100 }, () => harness.app.kernel.feed.emit(event)));
    const count = async (...words: readonly string[]): Promise<number> => {
      const { stdout } = await give(["events", "--type", "sync.failed", "--json", ...words], where);
      return (JSON.parse(stdout) as { events: readonly unknown[] }).events.length;
    };
    expect(await count("--limit", "1050")).toBe(1_050);
    expect(await count("--since", "1h")).toBe(await count("--limit", "5000"));
  });

  test("an AuthKey rotation reports what prevents it before it asks for confirmation", async () => {
    const { code, stderr } = await give(["authkeys", "rotate"], where);
    expect([code, stderr]).toEqual([2, expect.stringContaining("Rotating AuthKeys needs these operations")]);
  });

  test.each([
    ["an hour ago", -3_600_000],
    ["now", 0],
  ])("a freeze whose end is %s is refused without effect", async (_, offsetMs) => {
    const until = new Date(Date.now() + offsetMs).toISOString();
    const { code, stderr } = await give(["freeze", "on", "--yes", "--until", until], where);
    expect([code, stderr]).toEqual([2, expect.stringContaining("in the past")]);
    expect(await harness.freezes.ordered()).toBeUndefined();
    const { events } = await harness.app.kernel.feed.newest({ types: ["freeze.started"] }, { limit: 1 });
    expect(events).toEqual([]);
  });
});

describe("JSON output of commands", () => {
  let runId: string;
  beforeAll(async () => {
    await give(["freeze", "on", "--yes", "--reason", "parity"], "local");
    await give(["freeze", "off"], "remote");
    runId = await harness.startRun(harness.csv(1));
  });

  test.each([
    "quota",
    "sims list",
    "sims changes",
    "sims export",
    "events tail",
    "freeze status",
    "audit list",
    "schedules",
    "runs",
    "runs show RUN",
  ])("the JSON output of `%s` is the same locally and with a remote worker", async (command) => {
    const words = [...command.replace("RUN", runId).split(" "), "--json"];
    const [local, remote] = [await give(words, "local"), await give(words, "remote")];
    expect([local.code, remote.code, JSON.parse(remote.stdout)]).toEqual([0, 0, JSON.parse(local.stdout)]);
  });
});

test.each(["local", "remote"] as const)("an undo of a run that changed nothing starts no run (%s)", async (where) => {
  const runId = await harness.startRun(harness.csv(1));
  await harness.ask(`/v1/runs/${runId}/cancel`, { as: "operator", method: "POST" });
  const before = await harness.runs.list({ limit: 100 });
  const { code, stderr } = await give(["runs", "undo", runId, "--yes", "--no-sync"], where);
  expect([code, stderr]).toEqual([2, expect.stringContaining("nothing to undo")]);
  expect((await harness.runs.list({ limit: 100 })).runs).toHaveLength(before.runs.length);
});

test("events of a worker that does not respond are one document with the error, also those to follow", async () => {
  const server = ["--server", "http://127.0.0.1:9", "--json"];
  for (const words of [[], ["--since", "1h"], ["--since", "1h", "--follow"]]) {
    const { code, stdout } = await give(["events", ...words, ...server], "remote");
    expect([code, JSON.parse(stdout)]).toMatchObject([4, { error: { code: "WORKER_UNREACHABLE" } }]);
  }
});
