/** Commands on the machine itself: every one that changes something is in the audit, with who gave it and where. */
import { hostname, userInfo } from "node:os";
import type { Command } from "@commander-js/extra-typings";
import { expect, test } from "vitest";
import { features } from "#features.ts";
import { readingWords } from "#cli/feature.ts";
import { buildProgram, nameOf, runProgram } from "#cli/program.ts";
import { type Ended, processIo } from "../support/process-io.ts";
import { ControlHarness } from "./support/control-harness.ts";

const harness = await ControlHarness.ofFile({
  prepare: () =>
    Promise.resolve(`profiles: { default: {}, plant: {} }\nschedules:\n  nightly: { job: sync, cron: "0 3 * * *" }\n`),
});

/** Each feature with a command that changes something has one. */
const kinds = features.flatMap(({ audit }) => audit ?? []);

async function giveWords(given: readonly string[]): Promise<Ended> {
  const { io, ended } = processIo(harness.env);
  await runProgram([...given], { io, features });
  return ended;
}

const give = (line: string): Promise<Ended> => giveWords(line.split(" "));

/** Every command that can be given: a group of commands is none. */
function leaves(command: Command): Command[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap((sub) => leaves(sub as Command));
}

const program = await buildProgram({ io: processIo().io, features });
const words = new Set(features.flatMap(({ commands = {} }) => Object.keys(commands)));
const reads = features.flatMap((feature) => feature.reads ?? []);
const changing = program.commands
  .flatMap((command) => leaves(command as Command))
  .filter((command) => words.has(nameOf(command).split(" ", 1)[0] ?? ""))
  .filter((command) => !readingWords.has(command.name()) && !reads.includes(nameOf(command)))
  .map((command) => ({ name: nameOf(command), hasTarget: command.registeredArguments.length > 0 }));

/** The words of the first example in the help of a command. */
async function exampleOf(name: string): Promise<string[]> {
  const { stdout } = await give(`${name} --help`);
  const line = /\nExample:\n {2}simfleet (.+)/.exec(stdout)?.[1]?.replace(" --dry-run", "") ?? "";
  return [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? "");
}

/** What the audit names as the target of an example: its first argument, or the profile of a command that has one. */
function targetOf({ name, hasTarget }: (typeof changing)[number], example: readonly string[]) {
  if (hasTarget) return example[name.split(" ").length];
  const profile = / --profile (\S+)/.exec(example.join(" "))?.[1] ?? "default";
  return features.some((feature) => feature.ofProfile?.includes(name)) ? profile : null;
}

test("every command that only reads exists", () => {
  const names = program.commands.flatMap((command) => leaves(command as Command)).map(nameOf);
  expect(names).toEqual(expect.arrayContaining(reads));
});

// Shows S16. Most examples name what is not there, and fail after their entry.
test.each(changing)("the command `$name` is audited with its user, machine, and exit code", async (command) => {
  const { name } = command;
  const example = await exampleOf(name);
  const before = await harness.audit.list({ limit: 1, kinds });
  const { code, stderr } = await giveWords(example);
  const { entries } = await harness.audit.list({ limit: 1, kinds });
  expect(entries, `no entry: its feature needs \`audit\`, or \`reads\` with the command. ${stderr}`).not.toEqual(
    before.entries,
  );
  const target = targetOf(command, example);
  const ended = { result: code === 0 ? "done" : "failed", exitCode: code, status: null };
  const who = `cli:${userInfo().username}`;
  const entry = { who, from: hostname(), action: `simfleet ${name}`, target, ...ended };
  expect(entries, stderr).toMatchObject([entry]);
});

test("a command changes nothing when its audit entry cannot be written", async () => {
  const redis = harness.redis();
  // A key of another type takes no entry.
  await redis.rename("{simfleet}:audit", "{simfleet}:audit:aside");
  await redis.set("{simfleet}:audit", "taken");
  try {
    const ended = await give("freeze on --yes");
    expect([ended.code, ended.stderr]).toEqual([4, expect.stringContaining("nothing was changed")]);
    expect(await harness.freezes.ordered()).toBeUndefined();
  } finally {
    await redis.rename("{simfleet}:audit:aside", "{simfleet}:audit");
  }
});

test("a dry run and a read-only command leave no audit entry", async () => {
  const before = await harness.audit.list({ limit: 1 });
  await give("automations replay none --dry-run");
  await give("schedules run nightly --dry-run");
  await give("freeze status");
  await give("plan none.csv");
  expect(await harness.audit.list({ limit: 1 })).toEqual(before);
});

test("the command and the API both list audit entries of commands and requests", async () => {
  await give("freeze on --reason listed --yes");
  await harness.ask("/v1/freeze", { as: "admin", method: "DELETE" });
  const { stdout } = await give("audit list --limit 2");
  expect(stdout).toMatch(/token:admin .* DELETE \/v1\/freeze .* done 200/);
  expect(stdout).toMatch(new RegExp(`cli:${userInfo().username} .* simfleet freeze on .* done exit 0 .*${hostname()}`));
  const answer = await harness.ask("/v1/audit?limit=2", { as: "admin" });
  expect(await answer.json()).toMatchObject({
    entries: [{ action: "DELETE /v1/freeze" }, { action: "simfleet freeze on", result: "done", exitCode: 0 }],
  });
});
