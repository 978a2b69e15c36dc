/** What a user at a terminal sees, and what a pipe gets instead. */
import { chmod, mkdir, readFile, symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { RunningProcess } from "./support/process.ts";
import { builtCli, root } from "./support/built-cli.ts";
import { CliHarness, noAuthKey } from "./support/cli-harness.ts";

const escape = "\u001B";

/** A command on a terminal of its own, typed into by `answers`; all that the terminal shows comes out of stdout. */
function onTerminal(harness: CliHarness, line: string, answers = ""): RunningProcess {
  const script = `script -qec ${quoted(`stty cols 100 -echo; ${line}`)} /dev/null`;
  return harness.shell(`export -f simfleet; printf ${quoted(answers)} | SHELL=/bin/bash ${script}`);
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

describe.concurrent("commands on a terminal", () => {
  test("apply asks for confirmation and then updates a single progress line", async () => {
    await using harness = await CliHarness.open({ limits: { Sim: 30 }, rows: 90 });
    const { code, stdout } = await onTerminal(harness, "simfleet apply fleet.csv", "y\n").ended;
    expect(code).toBe(0);
    expect(stdout).toContain("Make 90 changes? [y/N] ");
    const frames = stdout.split(`\r${escape}[2K`).slice(1);
    expect(frames.length).toBeGreaterThan(5);
    expect(frames.some((frame) => /^[█░]{24} \d+\/90 · .*quota \d+\/30/.test(frame))).toBe(true);
    for (const frame of frames) expect((frame.split("\r\n")[0] ?? "").length).toBeLessThan(100);
    expect(stdout).toMatch(
      /r-\S+ {2}fleet\.csv\r\n {2}set-speed-class on .*\r\n {2}completed\r\n {2}90 of 90 done\r\n/,
    );
    expect(harness.changes).toBe(90);
  });

  test("apply asks on the terminal while its rows come through a pipe", async () => {
    await using harness = await CliHarness.open({ sims: 5, rows: 5 });
    const refused = await onTerminal(harness, "cat fleet.csv | simfleet apply -", "n\n").ended;
    expect(refused.stdout).toContain("Make 5 changes? [y/N] ");
    expect([refused.code, harness.changes]).toEqual([2, 0]);
    expect((await onTerminal(harness, "cat fleet.csv | simfleet apply -", "y\n").ended).code).toBe(0);
    expect(harness.changes).toBe(5);
  });

  /** What the README takes as given: an AuthKey in a file, files of SIMs, and the package in the folder. */
  async function setupReadme() {
    const account = { operations: "all", brand: "Soracom", env: noAuthKey } as const;
    const harness = await CliHarness.open({ ...account, sims: 5, rows: 5 });
    const { state, options } = harness.sandbox;
    const groupId = state.groups.all[0]?.groupId ?? "";
    await harness.write("groups.csv", `simId,groupId\n${harness.simId(0)},${groupId}\n`);
    await harness.write("auth-key", options.authKey);
    await chmod(harness.path("auth-key"), 0o600);
    await mkdir(harness.path("node_modules/.bin"), { recursive: true });
    await symlink((await builtCli()).path, harness.path("node_modules/.bin/simfleet"));
    const readme = await readFile(join(root, "README.md"), "utf8");
    const commands = [...readme.matchAll(/^(npx simfleet (?!worker)(\w+)[^#\n]*)/gm)];
    return Object.assign(harness, { groupId, commands: commands.map(([, line = "", name = ""]) => ({ line, name })) });
  }

  test("the commands of the README work to the letter and in their order, from init to the second operation", async () => {
    await using harness = await setupReadme();
    const { authKeyId } = harness.sandbox.options;
    const answers: Readonly<Record<string, string>> = { init: `g\n${authKeyId}\nauth-key\n\n`, apply: "y\n" };
    expect(harness.commands.map(({ name }) => name)).toEqual(["init", "check", "plan", "apply", "apply"]);
    for (const { line, name } of harness.commands) {
      const ended = await onTerminal(harness, line.trim(), answers[name]).ended;
      expect(ended.code, `${line}\n${ended.stdout}`).toBe(0);
    }
    expect(harness.changes).toBe(5);
    expect(harness.sandbox.state.recordOf(harness.simId(0))).toMatchObject({ groupId: harness.groupId });
  });

  test("a retry and an undo ask for confirmation, and a no changes nothing", async () => {
    await using harness = await CliHarness.open({ ...twoCalls, rows: 4 });
    const runId = await runWithCancelledRows(harness);
    const before = harness.changes;
    for (const [command, question] of [
      ["retry", "Send 2 rows of"],
      ["undo --no-sync", "nothing to restore (2 rows: "],
    ] as const) {
      const { code, stdout } = await onTerminal(harness, `simfleet runs ${command} ${runId}`, "n\n").ended;
      expect(stdout).toContain(question);
      expect(stdout).toMatch(/Nothing was started\.?\r\n$/);
      expect(code).toBe(2);
    }
    expect(harness.changes).toBe(before);
  });

  /** A harness with a run that no worker has begun. */
  async function setupHeld() {
    const harness = await CliHarness.open({ ...twoCalls, rows: 4 });
    const { document: held } = await harness.json(["apply", "fleet.csv", "--yes", "--detach"]);
    return Object.assign(harness, { held });
  }

  test("a cancel asks for confirmation, and a no leaves the run as it is", async () => {
    await using harness = await setupHeld();
    const { held } = harness;
    const kept = await onTerminal(harness, `simfleet runs cancel ${held.runId}`, "n\n").ended;
    expect(kept.stdout).toContain(`Cancel ${held.runId}? It cannot be resumed.`);
    expect((await harness.json(["runs", "show", held.runId])).document.state).toBe("running");
  });

  test("a freeze asks for confirmation, and runs are shown as frozen with it alone", async () => {
    await using harness = await setupHeld();
    const unfrozen = await onTerminal(harness, "simfleet freeze on", "n\n").ended;
    expect(unfrozen.code).toBe(2);
    expect(unfrozen.stdout).toContain("Freeze all changes of every profile? It pauses 1 run in progress. [y/N]");
    expect((await harness.run(["audit", "-n", "1"])).stdout).toMatch(/simfleet freeze on .* failed exit 2 /);
    expect((await harness.run(["runs"])).stdout).toMatch(/ running +4 /);
    await harness.run(["freeze", "on", "--yes"]);
    expect((await harness.run(["runs"])).stdout).toMatch(/ running \(frozen\) +4 /);
  });
});

test.concurrent("output to a pipe has no escape characters and only occasional progress lines", async () => {
  await using harness = await CliHarness.open({ limits: { Sim: 30 }, rows: 90 });
  const { code, stdout, stderr } = await harness.run(["apply", "fleet.csv", "--yes"], { TERM: "xterm-256color" });
  expect(code).toBe(0);
  expect(Array.from(stdout + stderr).filter((character) => character < " " && character !== "\n")).toEqual([]);
  const lines = stderr.split("\n").filter((line) => /^r-\S+ (running|completed): /.test(line));
  expect(lines.length).toBeGreaterThanOrEqual(2);
  expect(lines.length).toBeLessThan(8);
  expect(lines.at(-1)).toMatch(/^r-\S+ completed: 90 of 90 rows \(100%\), quota \d+\/30, resets in \d s$/);
});

/** A window so long that nothing more happens in it after two calls. */
const twoCalls = { sims: 4, limits: { Sim: 2 }, periodSeconds: 600 } as const;

/** A run of four rows that was ended after two of them. */
async function runWithCancelledRows(harness: CliHarness): Promise<string> {
  const { document: run } = await harness.json(["apply", "fleet.csv", "--yes", "--detach"]);
  const work = harness.start(["runs", "resume", run.runId]);
  await harness.untilChanges(2);
  await harness.run(["runs", "cancel", run.runId]);
  await work.ended;
  const { counts } = (await harness.json(["runs", "show", run.runId])).document;
  expect(counts).toMatchObject({ done: 2, cancelled: 2 });
  return run.runId;
}
