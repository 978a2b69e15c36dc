/** Credential Sets that a user creates, updates and deletes: by commands, local and remote, and by requests. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { dumpOf, encodings, found, textsIn } from "../e2e/support/canary.ts";
import { answeringPlatform } from "../e2e/support/stand-in.ts";
import type { Ended } from "../support/process-io.ts";
import { ControlHarness, type HarnessOptions } from "./support/control-harness.ts";
import { runCommand } from "./support/run-command.ts";

const canary = `canary+/="\\<ö>-${"q".repeat(20)}`;

const soracom: HarnessOptions = {
  sandbox: { operations: "all", limits: { Credential: 1e6, Group: 1e6 } },
  env: { SIMFLEET_BRAND: "Svc", SIMFLEET_COVERAGE: "g", SIMFLEET_DEPLOYMENT: "soracom" },
  prepare: (folder) => {
    writeFileSync(join(folder, "seal-key"), Buffer.alloc(32, 9), { mode: 0o600 });
    return Promise.resolve(`seal: { keyFile: ${join(folder, "seal-key")} }
rotations:
  mqtt: { type: psk, generate: { field: key, bytes: 32 }, sinks: [ { file: ${join(folder, "sink")} } ] }
`);
  },
};

const harness = await ControlHarness.ofFile(soracom);

type Where = "local" | "remote";
const give = (line: string, where: Where = "remote", stdin?: string): Promise<Ended> =>
  runCommand(harness, line.split(" "), where, { ...(stdin !== undefined && { stdin }) });

/** A command ends with this code and message. */
async function expectRefused(asked: Promise<Ended>, code: number, message: unknown): Promise<void> {
  const ended = await asked;
  expect([ended.code, ended.stderr]).toEqual([code, message]);
}

/** A file with a value, as only its owner may read it. */
function valueFile(name: string, value: string, mode = 0o600): string {
  const path = join(harness.folder, name);
  writeFileSync(path, value, { mode });
  return path;
}

function put(credentialsId: string, key = "before"): void {
  const set = { type: "psk", description: "of a test", credentials: { key } };
  harness.sandbox.state.credentials.create(credentialsId, set);
}

const secretOf = (id: string): unknown => harness.sandbox.state.credentials.secretOf(id);
const has = (id: string): boolean => harness.sandbox.state.credentials.all.some((set) => set.credentialsId === id);

function nameInGroup(credentialsId: string): void {
  const [group] = harness.sandbox.state.groups.all;
  harness.sandbox.state.groups.configure(group?.groupId ?? "", "SoracomFunk", [
    { key: "credentialsId", value: credentialsId },
  ]);
}

describe.each(["local", "remote"] as const)("commands that work %s", (where) => {
  test("a set is created from a file, updated from standard input, and deleted", async () => {
    const id = `life-${where}`;
    const file = valueFile("first", "first\n");
    const made = await give(`credentials create ${id} --type psk --description broker --value-file ${file}`, where);
    expect([made.code, made.stdout, secretOf(id)]).toEqual([0, `${id} was created.\n`, { key: "first" }]);
    const line = `credentials update ${id} --value-file - --yes --json`;
    const updated = await give(line, where, "second\r\n");
    expect([updated.code, secretOf(id)]).toEqual([0, { key: "second" }]);
    // What is not given stays.
    expect(JSON.parse(updated.stdout)).toMatchObject({ credentialsId: id, type: "psk", description: "broker" });
    const deleted = await give(`credentials delete ${id} --yes`, where);
    expect([deleted.code, deleted.stdout, has(id)]).toEqual([0, `${id} was deleted.\n`, false]);
  });

  test("an update and a deletion ask first", async () => {
    const id = `asked-${where}`;
    put(id);
    const file = valueFile("asked", "after");
    for (const line of [`update ${id} --value-file ${file}`, `delete ${id}`]) {
      await expectRefused(give(`credentials ${line}`, where, ""), 2, expect.stringContaining("add --yes"));
    }
    expect(secretOf(id)).toEqual({ key: "before" });
  });
});

describe("values", () => {
  test.each([
    ["a bare value", "--type psk", "bare", { key: "bare" }],
    ["a JSON object of all fields", "--type aws-credentials", '{"accessKeyId":"a","secretAccessKey":"b"}', undefined],
    ["JSON of the named field", "--type google-service-account-json --field credentials", '{"a":"b"}', undefined],
    ["a type that the platform definition does not know", "--type new --field word", "w", { word: "w" }],
    ["a certificate with carriage returns", "--type psk", "one\r\ntwo", { key: "one\ntwo" }],
  ])("%s is accepted", async (name, options, value, sent) => {
    const id = `form-${name.replaceAll(" ", "-")}`;
    const { code, stderr } = await give(`credentials create ${id} ${options} --value-file -`, "local", value);
    expect([code, stderr]).toEqual([0, ""]);
    expect(secretOf(id)).toEqual(sent ?? (options.includes("--field") ? { credentials: value } : JSON.parse(value)));
  });

  test.each([
    ["without a field", "--type x509", canary, "has to give a JSON object of texts"],
    ["that lacks a field", "--type x509", `{"key":"${"canary".repeat(3)}"}`, "credentials.cert is missing"],
    ["that is JSON of other fields", "--type psk", `{"canary-word":"x"}`, "credentials.key is missing"],
    ["that is empty", "--type psk", "\n", "must not be empty"],
    ["that is too long", "--type psk", "canary".repeat(11_000), "65536"],
  ])("a value %s is refused without a piece of it", async (_, options, value, words) => {
    for (const where of ["local", "remote"] as const) {
      const { code, stdout, stderr } = await give(`credentials create none ${options} --value-file -`, where, value);
      expect([code, stdout, stderr]).toEqual([2, "", expect.stringContaining(words)]);
      expect(stderr).not.toContain("canary");
    }
    expect(has("none")).toBe(false);
  });

  test("a file that others can read and a missing one are refused", async () => {
    for (const file of [valueFile("open", "x", 0o644), join(harness.folder, "missing")]) {
      const asked = give(`credentials create none --type psk --value-file ${file}`);
      await expectRefused(asked, 2, expect.stringMatching(/can be read by others|There is no file/));
    }
    expect(has("none")).toBe(false);
  });
});

describe("sets that must stay", () => {
  test("a set to which a group refers is kept, and the answer names the group", async () => {
    put("named");
    nameInGroup("named");
    const names = expect.stringMatching(/while SoracomFunk of group \S+ names it/) as unknown;
    await expectRefused(give("credentials delete named --yes"), 2, names);
    nameInGroup("na#{name}");
    expect((await give("credentials delete named --yes")).stderr).toContain("(by placeholder) may mean it");
    expect(has("named")).toBe(true);
    nameInGroup("another");
    expect((await give("credentials delete named --yes")).code).toBe(0);
  });

  test("the set of a rotation is rotated only, and what a rotation left behind can be deleted", async () => {
    put("mqtt");
    const file = valueFile("rotated", "by hand");
    const newer = "mqtt-20261120T0300Z";
    const holds = expect.stringContaining("contains the secret of the rotation mqtt: rotate it with");
    for (const line of [`update mqtt --value-file ${file} --yes`, "delete mqtt --yes"]) {
      await expectRefused(give(`credentials ${line}`), 2, holds);
    }
    put(newer);
    expect((await give(`credentials delete ${newer} --yes`)).stderr).toEqual(holds);
    expect((await give("credentials delete mqtt --yes")).code).toBe(0);
  });

  test("the new set of a rotation in progress is not created, and the old one is not deleted", async () => {
    const file = valueFile("rotated", "by hand");
    const newer = "mqtt-20261121T0300Z";
    put(newer);
    const begun = await harness.ask("/v1/rotations/mqtt/rotate", { as: "admin", method: "POST" });
    const { successor } = (await begun.json()) as { successor: string };
    for (const id of [newer, successor]) {
      const asked = give(`credentials create ${id} --type psk --value-file ${file}`);
      await expectRefused(asked, 2, expect.stringMatching(/already|is in progress and works with/));
    }
    expect((await give(`credentials delete ${newer} --yes`)).stderr).toContain("the rotation mqtt is in progress");
    expect([has("mqtt"), has(newer), has(successor)]).toEqual([false, true, false]);
  });

  test("a set that exists is not created again, and one that does not is neither updated nor deleted", async () => {
    put("twice");
    const file = valueFile("again", "again");
    expect((await give(`credentials create twice --type psk --value-file ${file}`)).stderr).toContain("already");
    expect(secretOf("twice")).toEqual({ key: "before" });
    for (const line of [`update gone --value-file ${file} --yes`, "delete gone --yes"]) {
      await expectRefused(give(`credentials ${line}`), 2, expect.stringContaining("There is no Credential Set gone"));
    }
  });

  test("an ID that would be another path is refused", async () => {
    const asked = give("credentials delete .. --yes", "local");
    await expectRefused(asked, 2, expect.stringContaining("must be letters, digits"));
  });

  test("a freeze refuses changes and says until when", async () => {
    put("frozen");
    const file = valueFile("frozen", "after");
    await harness.freezes.order({ by: "anna", reason: "incident 12", untilMs: undefined });
    try {
      const create = `create cold --type psk --value-file ${file}`;
      for (const line of [create, `update frozen --value-file ${file} --yes`, "delete frozen --yes"]) {
        await expectRefused(give(`credentials ${line}`), 4, expect.stringContaining("Changes are frozen: anna"));
      }
    } finally {
      await harness.freezes.end("anna");
    }
    expect([has("cold"), secretOf("frozen")]).toEqual([false, { key: "before" }]);
  });
});

test("with a definition that describes creation alone, sets are created, and the lines for the rest are shown", async () => {
  await using svc = await ControlHarness.open();
  const run = (line: string): Promise<Ended> => runCommand(svc, line.split(" "), "remote", { stdin: "value" });
  expect((await run("credentials create bare --type psk --value-file -")).code).toBe(0);
  expect(svc.sandbox.state.credentials.secretOf("bare")).toEqual({ key: "value" });
  const again = await run("credentials create bare --type psk --value-file -");
  expect([again.code, again.stderr]).toEqual([1, expect.stringContaining("createCredential")]);
  const update = await run("credentials update bare --value-file - --yes");
  const remove = await run("credentials delete bare --yes");
  expect([update.code, remove.code]).toEqual([2, 2]);
  expect(update.stderr).toMatch(/extends: svc\n +operations:\n +listCredentials:\n[^]*updateCredential:/);
  expect(remove.stderr).toMatch(/listCredentials:\n[^]*listGroups:\n[^]*deleteCredential:\n +method: DELETE/);
});

const forms = Object.values(encodings);

/** A worker whose platform echoes the value in each form, in refusals and in responses. */
async function setupEcho() {
  let calls = 0;
  const platform = await answeringPlatform({ apiKey: "canary-api-key", token: "canary-token" }, () => {
    const turn = calls++;
    const echo = forms[turn % forms.length]?.(canary) ?? "";
    return Math.trunc(turn / forms.length) % 2 === 0
      ? { status: 400, body: { code: echo, message: `no ${echo}` } }
      : { status: 200, body: { credentialsId: "x", type: "psk", credentials: { key: canary }, description: echo } };
  });
  const env = { SIMFLEET_ENDPOINT_GLOBAL: `http://127.0.0.1:${platform.port}`, SIMFLEET_COVERAGE: "g" };
  const echoing = await ControlHarness.open({ env });
  onTestFinished(async () => {
    await echoing[Symbol.asyncDispose]();
    await platform[Symbol.asyncDispose]();
  });
  /** Everything that could show the value. @param shown what commands and responses have shown */
  const left = async (shown: readonly string[]) => ({
    output: shown.join("\n"),
    audit: await (await echoing.ask("/v1/audit?limit=200", { as: "admin" })).text(),
    redis: await dumpOf(echoing.redis()),
    files: await textsIn(echoing.folder),
    log: echoing.log.join("\n"),
  });
  return { echoing, left };
}

/** Creates sets by requests, one for each way in which the platform answers. @returns what the responses have shown */
async function createByRequests(echoing: ControlHarness): Promise<string[]> {
  const shown: string[] = [];
  const headers = { "content-type": "application/json", "idempotency-key": "once" };
  const body = JSON.stringify({ type: "psk", value: canary });
  for (const path of forms.flatMap(() => ["/v1/credentials/x", "/v1/credentials/y"])) {
    const answer = await echoing.ask(path, { as: "admin", method: "POST", headers, body });
    expect([201, 502]).toContain(answer.status);
    shown.push(await answer.text());
  }
  return shown;
}

/** The same by commands. @returns what they have shown */
async function createByCommands(echoing: ControlHarness): Promise<string[]> {
  const shown: string[] = [];
  const words = "credentials create x --type psk --value-file - --json".split(" ");
  for (const where of (["local", "remote"] as const).flatMap((place) => forms.map(() => place))) {
    const { code, stdout, stderr } = await runCommand(echoing, words, where, { stdin: canary });
    expect([0, 1]).toContain(code);
    shown.push(stdout, stderr);
  }
  return shown;
}

// Shows S1 and S16.
test("the value is in no output, log, store or audit, however the platform echoes it", async () => {
  const { echoing, left } = await setupEcho();
  // Requests come first: a command in this process would leave its secret to the scrubber of the worker.
  const shown = await createByRequests(echoing);
  shown.push(...(await createByCommands(echoing)));
  // Nor may a digest of the request lie in Redis, from which a short value could be guessed.
  expect(await echoing.redis().keys("*idempotency*")).toEqual([]);
  const all = await left(shown);
  expect(all.audit).toContain("POST /v1/credentials/:credentialsId");
  expect(all.output).toContain("[secret]");
  for (const [place, text] of Object.entries(all)) expect([place, found(text, [canary])]).toEqual([place, []]);
});
