/** Words that no command knows: errors with a suggestion, in one form, with exit code 2. */
import { afterAll, describe, expect, test } from "vitest";
import { features } from "#features.ts";
import { buildProgram, runProgram } from "#cli/program.ts";
import { version } from "#core/version.ts";
import { type Ended, processIo } from "../../support/process-io.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const dataDir = temporaryFolder(afterAll);

async function run(line: string): Promise<Ended> {
  const { io, ended } = processIo({ SIMFLEET_DATA_DIR: dataDir });
  await runProgram(line.split(" "), { io, features });
  return ended;
}

describe("an unknown word", () => {
  const mistakes = [
    ["freze", "Unknown command 'freze'. Did you mean freeze?"],
    ["freze --help", "Unknown command 'freze'. Did you mean freeze?"],
    ["help freze", "Unknown command 'freze'. Did you mean freeze?"],
    ["runs shwo --help", "Unknown command 'shwo'. Did you mean show?"],
    ["runs help shwo", "Unknown command 'shwo'. Did you mean show?"],
    ["runs list --limt 3", "Unknown option '--limt'. Did you mean --limit?"],
    ["runs list extra", "Too many arguments for 'list'. Expected 0 arguments but got 1: extra."],
    ["runs show", "Missing required argument 'run'."],
    ["webhooks deliveries --state faild", "Did you mean failed?"],
    ["runs results r-1 --outcome fialed", "Did you mean failed?"],
    ["events --type run.complted", "Did you mean run.completed?"],
    ["sims changes --kind chnged", "Did you mean changed?"],
    ["apply", "Give a file or --where."],
  ];

  test.each(mistakes)("in `simfleet %s` is a one-line error with exit code 2", async (line, message) => {
    const { code, stdout, stderr } = await run(line);
    expect(stderr).toMatch(/^simfleet: .*\n$/);
    expect(stderr).toContain(message);
    expect(stderr).toMatch(/Add --help for the options\.\n$/);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  });

  test("is an error document with --json", async () => {
    const { code, stdout } = await run("runs list --limt 3 --json");
    expect(JSON.parse(stdout)).toEqual({
      error: { code: "USAGE", message: "Unknown option '--limt'. Did you mean --limit? Add --help for the options." },
    });
    expect(code).toBe(2);
  });
});

describe("the help", () => {
  test("lists every command under a heading and ends with exit code 0", async () => {
    const { code, stdout, stderr } = await run("--help");
    expect(stdout).toMatch(/\nChange SIMs:\n {2}plan .*\n {2}apply .*\n {2}runs .*\n/);
    const names = features.flatMap(({ commands }) => Object.keys(commands ?? {}));
    for (const name of [...names, "worker", "check", "tokens", "demo", "sandbox"]) {
      expect(stdout).toContain(`\n  ${name} `);
    }
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  });

  test("of the sandbox has its faults behind --help-all", async () => {
    expect((await run("sandbox --help")).stdout).toMatch(/\nFleet:\n {2}--sims(?:.|\n)*\nQuota:\n/);
    expect((await run("sandbox --help")).stdout).not.toContain("--fault <");
    const all = await run("sandbox --help-all");
    expect([all.code, all.stdout]).toEqual([0, expect.stringMatching(/\nFaults:\n {2}--fault /)]);
  });

  test("of events is that of events tail as well", async () => {
    expect((await run("events tail --help")).stdout).toContain("Usage: simfleet events [options]");
  });

  test("of a group lists its commands, and says first how to get started", async () => {
    expect((await run("runs --help")).stdout).toContain("  resume [options] <run>");
    expect((await run("--help")).stdout).toMatch(/New here\?(?:.|\n)*\nGet started:\n(?:.|\n)*\nChange SIMs:/);
  });
});

describe("the commands", () => {
  const parts = { io: processIo().io, features };

  test("that are groups show an example in their help", async () => {
    const { commands } = await buildProgram(parts);
    const groups = commands.filter((command) => command.commands.length > 0).map((command) => command.name());
    expect(groups).toContain("tokens");
    for (const name of groups) {
      expect((await run(`${name} --help`)).stdout, name).toMatch(new RegExp(`\nExample:\n {2}.*simfleet ${name} \\w+`));
    }
  });

  test.each([
    ["--yes", "-y"],
    ["--out", "-o"],
    ["--limit", "-n"],
    ["--follow", "-f"],
  ])("have the same short form of %s everywhere", async (long, short) => {
    const { commands } = await buildProgram(parts);
    // The --limit of the sandbox is a quota.
    const all = commands.filter((command) => command.name() !== "sandbox").flatMap((one) => [one, ...one.commands]);
    const options = all.flatMap((command) => command.options).filter((option) => option.long === long);
    expect(options.length).toBeGreaterThan(0);
    expect(new Set(options.map((option) => option.short))).toEqual(new Set([short]));
  });
});

test("--version prints the version", async () => {
  expect(await run("--version")).toEqual({ code: 0, stdout: `${version}\n`, stderr: "" });
});

test("version prints the version, and common options may stand before the command", async () => {
  expect((await run("version")).stdout).toBe(`${version}\n`);
  const { stderr, code } = await run("--config /no/simfleet.yaml --json runs list");
  expect([code, stderr]).toEqual([2, expect.stringContaining("/no/simfleet.yaml")]);
  expect((await run("--json runs --help")).stdout).toContain("Usage: simfleet runs");
});

test("a results file is neither called - nor the input", async () => {
  expect((await run("plan package.json --out -")).stderr).toContain("--out takes the name of a file");
  expect((await run("apply package.json --yes --out ./package.json")).stderr).toContain("would overwrite the input");
});

test("a worker that cannot start says so as a line of its log", async () => {
  const { code, stderr } = await run("worker --config /no/simfleet.yaml");
  expect(code).toBe(2);
  expect(JSON.parse(stderr)).toMatchObject({
    level: "fatal",
    message: expect.stringContaining("/no/simfleet.yaml") as string,
  });
});
