/** Which words complete a command line. The shells themselves are in test/e2e/completion.test.ts. */
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { candidates, readLine } from "#cli/completion/candidates.ts";
import { type CommandTree, treeOf } from "#cli/completion/command-tree.ts";
import { type KnownNames, knownNames, rememberNames } from "#cli/completion/known-names.ts";
import { buildProgram } from "#cli/program.ts";
import { features } from "#features.ts";

const known: KnownNames = { runs: ["r-2", "r-1"], profiles: ["default", "japan"], operations: ["set-group"] };
let tree: CommandTree;

beforeAll(async () => {
  const io = {
    env: {},
    stdout: process.stdout,
    stderr: process.stderr,
    stdin: process.stdin,
    interrupt: new AbortController().signal,
    setExitCode: () => undefined,
  };
  const deps = { io, features, version: "1.2.3", runWorker: () => Promise.resolve() };
  tree = treeOf(await buildProgram(deps, undefined, "all"));
});

/** The words at the end of a line; `:files` for paths. */
function completed(line: string): string[] {
  const words = line.split(" ");
  const current = words.pop() ?? "";
  const { words: found, areFiles } = candidates(readLine(tree, words), current, known);
  return [...found.map(({ word }) => word), ...(areFiles ? [":files"] : [])];
}

describe("completion", () => {
  test.each([
    ["ap", ["apply"]],
    ["runs re", ["resume", "retry", "results"]],
    ["apply --ope", ["--operation"]],
    ["apply fleet.csv --operation ", ["set-group"]],
    ["apply --operation=set", ["--operation=set-group"]],
    ["apply --operation = set", ["set-group"]],
    ["apply --operation =", ["set-group"]],
    ["apply --profile j", ["japan"]],
    ["apply ", [":files"]],
    ["apply fleet.csv --out ", [":files"]],
    ["runs show ", ["r-2", "r-1"]],
    ["runs show --json r-1", ["r-1"]],
    ["runs show --profile japan r-", ["r-2", "r-1"]],
    ["deliveries list --state fa", ["failed"]],
    ["operations show ", ["set-group"]],
    ["tokens create --role ", ["viewer", "operator", "admin"]],
    ["runs show -- --", []],
    ["nonsense", []],
  ])("of `simfleet %s` offers %j", (line, words) => {
    expect(completed(line)).toEqual(words);
  });

  test("offers every command that the help lists, and none that is hidden", () => {
    expect(completed("")).toEqual(tree.commands.map(({ name }) => name));
    expect(completed("completion ")).toEqual(["bash", "zsh", "fish", "help"]);
  });

  test("offers the options of a command that takes no further argument", () => {
    expect(completed("runs show r-1 ")).toEqual(completed("runs show r-1 -"));
    expect(completed("runs show r-1 ")).toContain("--watch");
  });
});

describe("names for completion", () => {
  async function withHome(use: (env: NodeJS.ProcessEnv, home: string) => Promise<void>): Promise<void> {
    const home = await mkdtemp(join(tmpdir(), "names-"));
    try {
      await use({ HOME: home }, home);
    } finally {
      await rm(home, { recursive: true });
    }
  }

  test("are kept in a private file, runs beside those of before", async () => {
    await withHome(async (env, home) => {
      await rememberNames({ env }, { runs: ["r-20261120-1"], profiles: ["default"] });
      await rememberNames({ env }, { runs: ["r-20261121-1"] });
      expect(knownNames({ env })).toEqual({
        runs: ["r-20261121-1", "r-20261120-1"],
        profiles: ["default"],
        operations: [],
      });
      expect((await stat(join(home, ".cache", "simfleet", "names.json"))).mode & 0o777).toBe(0o600);
    });
  });

  test("are those of the worker and the configuration that the line names", async () => {
    await withHome(async (env) => {
      await rememberNames({ env, server: "https://a.example.com" }, { runs: ["r-a"] });
      await rememberNames({ env, config: "b.yaml" }, { runs: ["r-b"] });
      expect(knownNames({ env: { ...env, SIMFLEET_SERVER: "https://a.example.com" } }).runs).toEqual(["r-a"]);
      expect(knownNames({ env, config: "b.yaml" }).runs).toEqual(["r-b"]);
      expect(knownNames({ env }).runs).toEqual([]);
    });
  });

  test("leave out what a shell would give a meaning", async () => {
    await withHome(async (env) => {
      await rememberNames({ env }, { runs: ["r-1", "$(reboot)", "a b", "\u001B[2J"] });
      expect(knownNames({ env }).runs).toEqual(["r-1"]);
    });
  });

  test("are none where there is no folder to keep them in", async () => {
    await rememberNames({ env: {} }, { runs: ["r-1"] });
    expect(knownNames({ env: {} })).toEqual({ runs: [], profiles: [], operations: [] });
  });
});
