/** What options of one name have in common in all commands. */
import type { Command } from "@commander-js/extra-typings";
import { expect, test } from "vitest";
import { buildProgram, nameOf } from "#cli/program.ts";
import { features } from "#features.ts";
import { processIo } from "../../support/process-io.ts";

const flatten = (command: Command): Command[] => [
  command,
  ...command.commands.flatMap((sub) => flatten(sub as Command)),
];
const commands = flatten(await buildProgram({ io: processIo().io, features }));

/** Each command that has the option, with the option. */
function withOption(flag: string): [string, Command["options"][number]][] {
  return commands.flatMap((command) =>
    command.options.filter(({ long }) => long === flag).map((option) => [nameOf(command), option] as const),
  ) as never;
}

test("commands about the past have --since", () => {
  const past = ["sims changes", "automations replay", "events", "summary", "audit list"];
  expect(withOption("--since").map(([name]) => name)).toEqual(expect.arrayContaining(past));
});

test("every --since takes an age and a local date, and says so", () => {
  for (const [name, { parseArg, description }] of withOption("--since")) {
    const ms = (text: string): number => {
      const at = String(parseArg?.(text, undefined as never));
      return at.includes("T") ? Date.parse(at) : Number.parseInt(at, 10);
    };
    expect([name, Math.round((Date.now() - ms("24h")) / 60_000)]).toEqual([name, 1_440]);
    expect([name, Math.abs(ms("2026-11-25") - new Date(2026, 10, 25).getTime()) < 2]).toEqual([name, true]);
    expect(() => parseArg?.("soon", undefined as never)).toThrow(/age such as 90m/);
    expect(description).toContain("local time");
  }
});
