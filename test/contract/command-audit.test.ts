/** Commands on the machine itself: every one that changes something is in the audit, with who gave it and where. */
import { hostname, userInfo } from "node:os";
import type { Command } from "@commander-js/extra-typings";
import { expect, test } from "vitest";
import { features } from "#features.ts";
import { buildProgram, nameOf, runProgram } from "#cli/program.ts";
import { type Ended, processIo } from "../support/process-io.ts";
import { ControlHarness } from "./support/control-harness.ts";

const harness = await ControlHarness.ofFile({
  prepare: () => Promise.resolve(`schedules:\n  nightly: { job: sync, cron: "0 3 * * *" }\n`),
});

const runWorker = (): Promise<void> => Promise.reject(new Error("no worker is started here"));

/** Each feature with a command that changes something has one. */
const kinds = features.flatMap(({ audit }) => audit ?? []);

async function give(line: string): Promise<Ended> {
  const { io, ended } = processIo(harness.env);
  await runProgram(line.split(" "), { io, runWorker, features, version: "0" });
  return ended;
}

/** Every command that can be given: a group of commands is none. */
function leaves(command: Command): Command[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap((sub) => leaves(sub as Command));
}

/** Arguments of each command that changes something; most name what is not there, and fail after their entry. */
const examples: Readonly<Record<string, { args: string; target: string | null; exitCode: number }>> = {
  apply: { args: "none.csv --yes", target: "none.csv", exitCode: 2 },
  "runs pause": { args: "r-none", target: "r-none", exitCode: 2 },
  "runs resume": { args: "r-none", target: "r-none", exitCode: 2 },
  "runs cancel": { args: "r-none", target: "r-none", exitCode: 2 },
  "runs retry": { args: "r-none", target: "r-none", exitCode: 2 },
  "runs undo": { args: "r-none --yes", target: "r-none", exitCode: 2 },
  "runs approve": { args: "r-none", target: "r-none", exitCode: 2 },
  "runs delete": { args: "r-none --yes", target: "r-none", exitCode: 2 },
  "sims sync": { args: "--detach", target: "default", exitCode: 0 },
  "credentials create": { args: "none --type psk --value-file none", target: "none", exitCode: 2 },
  "credentials update": { args: "none --value-file none --yes", target: "none", exitCode: 2 },
  "credentials delete": { args: "none --yes", target: "none", exitCode: 2 },
  "credentials rotate": { args: "none --yes", target: "none", exitCode: 2 },
  "credentials confirm": { args: "none", target: "none", exitCode: 2 },
  "authkeys rotate": { args: "--yes", target: "default", exitCode: 2 },
  "schedules run": { args: "nightly", target: "nightly", exitCode: 0 },
  "schedules trigger": { args: "nightly", target: "nightly", exitCode: 0 },
  "schedules pause": { args: "nightly", target: "nightly", exitCode: 0 },
  "schedules resume": { args: "nightly", target: "nightly", exitCode: 0 },
  "automations pause": { args: "none", target: "none", exitCode: 2 },
  "automations resume": { args: "none", target: "none", exitCode: 2 },
  "automations replay": { args: "none", target: "none", exitCode: 2 },
  "freeze on": { args: "--reason test --yes", target: null, exitCode: 0 },
  "freeze off": { args: "", target: null, exitCode: 0 },
  "webhooks test": { args: "none", target: "none", exitCode: 2 },
  "webhooks resume": { args: "none", target: "none", exitCode: 2 },
  "tokens create": { args: "--name ci --role viewer", target: null, exitCode: 0 },
  "tokens revoke": { args: "none", target: "none", exitCode: 2 },
  "webhooks deliveries redeliver": { args: "d-none", target: "d-none", exitCode: 2 },
};

// Shows S16.
test("every command of a feature reads only, or is audited by an example below", async () => {
  const words = features.flatMap(({ commands = {} }) => Object.keys(commands));
  const reading = features.flatMap(({ reads = [] }) => reads);
  const program = await buildProgram({ io: processIo().io, runWorker, features, version: "0" });
  const names = program.commands.flatMap((command) => leaves(command as Command)).map(nameOf);
  const ofFeatures = names.filter((name) => words.includes(name.split(" ", 1)[0] ?? ""));
  expect([...reading, ...Object.keys(examples)].toSorted()).toEqual(ofFeatures.toSorted());
});

test.each(Object.entries(examples))(
  "the command `%s` is audited with its user, machine, and exit code",
  async (name, example) => {
    const { code, stderr } = await give(`${name} ${example.args}`.trim());
    expect([code, stderr]).toEqual([example.exitCode, expect.anything()]);
    const { entries } = await harness.audit.list({ limit: 1, kinds });
    expect(entries).toMatchObject([
      {
        who: `cli:${userInfo().username}`,
        action: `simfleet ${name}`,
        target: example.target,
        result: example.exitCode === 0 ? "done" : "failed",
        exitCode: example.exitCode,
        status: null,
        from: hostname(),
      },
    ]);
  },
);

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
