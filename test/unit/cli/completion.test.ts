/** Which words complete a command line. The shells themselves are in test/e2e/completion.test.ts. */
import { describe, expect, test } from "vitest";
import type { Command } from "@commander-js/extra-typings";
import { candidates } from "#cli/commands/completion.ts";
import { buildProgram } from "#cli/program.ts";
import { features } from "#features.ts";
import { processIo } from "../../support/process-io.ts";

const program: Command = await buildProgram({ io: processIo().io, features });

/** The words at the end of a line. */
function completed(line: string): string[] {
  const words = line.split(" ");
  const current = words.pop() ?? "";
  return candidates(program, words, current).map(({ word }) => word);
}

describe("completion", () => {
  test.each([
    ["ap", ["apply"]],
    ["runs re", ["resume", "retry", "results"]],
    ["apply --ope", ["--operation"]],
    ["webhooks deliveries li", ["list"]],
    ["apply ", []],
    ["nonsense", []],
  ])("of `simfleet %s` offers %j", (line, words) => {
    expect(completed(line)).toEqual(words);
  });

  test("offers every command that the help lists, and none that is hidden", () => {
    expect(completed("")).toEqual(
      program
        .createHelp()
        .visibleCommands(program)
        .map((command) => command.name()),
    );
    expect(completed("completion ")).toEqual(["bash", "zsh", "fish", "help"]);
  });

  test("offers the options of a command behind its arguments", () => {
    expect(completed("runs show r-1 --")).toContain("--watch");
  });
});
