/** Completion in real shells: the words that a user types, with a Tab, and what the line becomes. */
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { describe, expect, test } from "vitest";
import { CliHarness } from "./support/cli-harness.ts";
import { unless } from "../support/left-out.ts";

const has = (program: string): boolean =>
  (process.env.PATH ?? "").split(delimiter).some((folder) => existsSync(join(folder, program)));

/** For the name of a test that is skipped. */
const reason = (shell: string): string => unless(has(shell), `no ${shell} here`);

/** A harness with two files, and `simfleet` on the PATH. */
async function setup(): Promise<CliHarness> {
  const harness = await CliHarness.open({ env: { SIMFLEET_PROFILE: "default" } });
  await mkdir(harness.path("bin"));
  await writeFile(harness.path("bin/simfleet"), `#!/bin/sh\nexec ${harness.commandLine([])} "$@"\n`);
  await chmod(harness.path("bin/simfleet"), 0o755);
  for (const name of ["fleet-one.csv", "other.csv"]) await harness.fleet(name, 1);
  return harness;
}

function environmentOf(harness: CliHarness): Record<string, string> {
  const PATH = `${harness.path("bin")}${delimiter}${harness.env["PATH"] ?? ""}`;
  return { PATH, HOME: harness.folder, XDG_CACHE_HOME: harness.path("cache"), TERM: "dumb" };
}

/** What each line becomes after a Tab at its end, in a shell on a terminal. */
async function afterTab(harness: CliHarness, shell: string, lines: readonly string[]): Promise<string[]> {
  const [, ...starts] = shell.split("; ");
  // Ctrl-A goes to the start of the completed line, Ctrl-E to its end: it is written to a file instead of run.
  const typed = [...starts, ...lines.map((line) => `${line}\t\u0001echo \u0005 >> lines`), "exit", ""].join("\n");
  const program = `script -qec '${shell.split("; ")[0]}' /dev/null`;
  await harness.write("typed", typed);
  await harness.startProgram("/bin/bash", ["-c", `${program} < typed`], environmentOf(harness)).ended;
  return (await harness.read("lines")).trimEnd().split("\n");
}

/** Lines as typed, and as completed. */
const lines = {
  "simfleet runs sho": "simfleet runs show",
  "simfleet apply --skip": "simfleet apply --skip-unchanged",
  "simfleet apply oth": "simfleet apply other.csv",
};

describe.concurrent("a Tab", () => {
  test.each([
    ["bash", "bash --norc --noprofile -i; source <(simfleet completion bash)"],
    ["zsh", "zsh -f -i; autoload -U compinit; compinit -u; source <(simfleet completion zsh)"],
  ])("completes commands, options and files in %s", async (name, shell) => {
    if (!has(name)) return console.log(`skipped: no ${name} here`);
    await using harness = await setup();
    expect(await afterTab(harness, shell, Object.keys(lines))).toEqual(Object.values(lines));
  });

  test.skipIf(!has("fish"))(`completes commands, options and files in fish${reason("fish")}`, async () => {
    await using harness = await setup();
    const env = environmentOf(harness);
    const asked = Object.keys(lines)
      .map((line) => `complete -C "${line}"`)
      .join("; ");
    const fish = harness.startProgram(
      "fish",
      ["--no-config", "-c", `simfleet completion fish | source; ${asked}`],
      env,
    );
    const words = (await fish.ended).stdout.trimEnd().split("\n");
    const expected = Object.values(lines).map((line) => line.split(" ").at(-1));
    expect(words.map((word) => word.split("\t")[0])).toEqual(expected);
  });
});
