/** Rotations by a successor, from the first check to the last. */
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ConfigError, PlatformError, SimfleetError } from "#core/errors.ts";
import { Secret, liveSecrets } from "#core/secrets/secret.ts";
import type { RotationAccount } from "#jobs/credentials/account-sets.ts";
import { openSeal } from "#engine/seal.ts";
import { openTestRedis } from "../../support/redis.ts";
import { type HarnessOptions, oldSecret, RotationHarness } from "./rotation-harness.ts";

const place = openTestRedis();

/** A rotation of a set that is in use. */
async function setup(options: Omit<HarnessOptions, "place"> = {}): Promise<RotationHarness> {
  const harness = await RotationHarness.open({ place, ...options });
  harness.makeOldSet();
  return harness;
}

async function refusalOf(promise: Promise<unknown>): Promise<string> {
  const thrown: unknown = await promise.catch((error: unknown) => error);
  if (thrown instanceof ConfigError || thrown instanceof SimfleetError) return `${thrown.code} ${thrown.message}`;
  throw new Error(`no refusal but ${String(thrown)}`);
}

/** The platform's client rejects the creation of a set with the secret in its words. */
function echoing<T extends object>(name: string, thing: T): T {
  if (name !== "client") return thing;
  const call = (operation: { id: string }, input: unknown, options: object): unknown => {
    const { call: real } = thing as unknown as RotationAccount["client"];
    if (operation.id !== "createCredential") return real.call(thing, operation as never, input as never, options);
    const { credentials } = input as { credentials: { key: Secret } };
    const words = `createCredential: rejected (400 ECHO: ${credentials.key.reveal()})`;
    throw new PlatformError("PLATFORM_REJECTED", words, { operation: operation.id });
  };
  return new Proxy(thing, {
    get: (target, property) => {
      const value: unknown = property === "call" ? call : Reflect.get(target, property, target);
      return typeof value === "function" && property !== "call" ? (value.bind(target) as unknown) : value;
    },
  });
}

const hourMs = 3_600_000;

async function workHourly(harness: RotationHarness, hours = 1): Promise<void> {
  for (let hour = 0; hour < hours; hour += 1) {
    harness.clock.pass(hourMs);
    await harness.work();
  }
}

describe("successor rotations", () => {
  it("a successor rotation hands over, creates, repoints groups, and waits while the old set may be in use", async () => {
    const harness = await setup({ withWebhook: true });
    const { credentialsId } = harness.rotation;
    harness.nameInGroups(credentialsId);
    const configured = JSON.stringify(harness.configurations);
    await harness.begin();
    expect(await harness.work()).toMatchObject({ kind: "postponed", delayMs: hourMs, scope: "job" });
    const { newId, ...waiting } = await harness.record();
    expect(waiting).toMatchObject({ state: "switched", waitsFor: "grace" });
    expect(newId).toBe(`${credentialsId}-20261120T0300Z`);
    expect(harness.sets).toEqual({ [credentialsId]: oldSecret, [newId]: harness.handed });
    const named = configured.replaceAll(/("\$?credentialsId":)"psk-p-[^"]*"/g, `$1"${newId}"`);
    expect(JSON.stringify(harness.configurations)).toBe(named);
  });

  it("a successor rotation deletes the old set once it is unused, and has emitted an event for each step", async () => {
    const harness = await setup({ withWebhook: true });
    harness.nameInGroups(harness.rotation.credentialsId);
    const { newId } = await harness.begin();
    await harness.work();
    harness.clock.pass(hourMs);
    expect(await harness.work()).toEqual({ kind: "ended" });
    expect(await harness.record()).toMatchObject({ state: "done", currentId: newId });
    expect(harness.sets).toEqual({ [newId]: harness.handed });
    const kinds = (await harness.events()).map(({ type }) => type.slice("credential.".length));
    expect(kinds).toEqual(["handed-over", "handed-over", "created", "repointed", "unused", "rotated"]);
  });

  it("a successor rotation hands the new secret to its sinks and keeps it sealed until it ends", async () => {
    const harness = await setup({ withWebhook: true });
    await harness.begin();
    await harness.work();
    expect(statSync(harness.sinkFile).mode & 0o777).toBe(0o600);
    expect(harness.heard).toEqual([harness.handed]);
    expect(harness.handed).toMatch(/^[\w-]{43}$/);
    expect(await harness.sealed()).toBe(harness.handed);
    await workHourly(harness);
    expect((await harness.record()).sealed).toBeUndefined();
  });

  it("a successor rotation does not start twice and avoids the id of an existing set", async () => {
    const harness = await setup();
    harness.makeOldSet(`${harness.rotation.credentialsId}-20261120T0300Z`);
    const first = await harness.begin();
    expect(first.oldId).toBe(`${harness.rotation.credentialsId}-20261120T0300Z`);
    expect(first.newId).toBe(`${harness.rotation.credentialsId}-20261120T0301Z`);
    expect((await harness.begin()).rotationId).toBe(first.rotationId);
  });

  it("a successor rotation waits while the old set is used and reports each use once", async () => {
    const harness = await setup();
    const { credentialsId } = harness.rotation;
    await harness.begin();
    await harness.work();
    for (let used = 0; used < 3; used += 1) {
      harness.clock.pass(hourMs - 60_000);
      harness.sandbox.state.credentials.noteUse(credentialsId);
      harness.clock.pass(61_000);
      expect(await harness.work()).toMatchObject({ kind: "postponed" });
      expect(Object.keys(harness.sets)).toContain(credentialsId);
    }
    expect((await harness.workToEnd()).state).toBe("done");
    expect((await harness.events()).filter(({ type }) => type === "credential.in-use")).toHaveLength(3);
  });

  /** A rotation whose old set a group may name by a placeholder. */
  const setupPlaceholder = async () => {
    const harness = await setup();
    harness.nameInGroups(harness.rotation.credentialsId);
    harness.nameByPlaceholder(`psk-#{tag.device}`);
    await harness.begin();
    return harness;
  };

  it("a successor rotation never deletes a set that a placeholder may match", async () => {
    const harness = await setupPlaceholder();
    const reason = /is not deleted while SoracomBeam of group \S+ \(by placeholder\) may mean it$/;
    const waiting = { state: "switched", waitsFor: "reference", reason: expect.stringMatching(reason) as unknown };
    expect(await harness.workToEnd()).toMatchObject(waiting);
    await workHourly(harness, 20);
    expect(Object.keys(harness.sets)).toContain(harness.rotation.credentialsId);
    expect((await harness.events()).filter(({ type }) => type === "credential.unconfirmed")).toHaveLength(2);
  });

  it("a successor rotation deletes the old set once no placeholder may match it", async () => {
    const harness = await setupPlaceholder();
    expect((await harness.workToEnd()).state).toBe("switched");
    harness.nameByPlaceholder("other-#{imsi}");
    harness.clock.pass(hourMs);
    expect((await harness.workToEnd()).state).toBe("done");
    expect(Object.keys(harness.sets)).not.toContain(harness.rotation.credentialsId);
  });

  it("a successor rotation keeps the old set when the new one is gone", async () => {
    const harness = await setup();
    await harness.begin();
    await harness.work();
    harness.sandbox.state.credentials.delete((await harness.record()).newId);
    await workHourly(harness);
    const failing = await harness.record();
    expect(failing).toMatchObject({ state: "switched", waitsFor: "fault" });
    expect(failing.problem).toMatchObject({ message: failing.reason, nextAttemptMs: failing.nextAtMs });
    expect(failing.problem?.attempts).toBeGreaterThan(0);
    expect(harness.sets).toEqual({ [harness.rotation.credentialsId]: oldSecret });
  });
});

describe("platform definitions with missing operations", () => {
  it("a rotation without group operations waits for the user to repoint and confirm", async () => {
    const harness = await setup({ without: ["listGroups", "putGroupConfiguration"] });
    await harness.begin();
    const waiting = await harness.workToEnd();
    expect(waiting).toMatchObject({ state: "created", waitsFor: "confirmation" });
    expect(waiting.reason).toContain(`simfleet credentials confirm ${harness.rotation.name}`);
    const context = harness.context();
    await context.log.move(waiting, { confirmedAtMs: harness.clock.wallMs(), nextAtMs: 0 });
    expect((await harness.workToEnd()).state).toBe("done");
    expect(Object.values(harness.sets)).toEqual([harness.handed]);
    expect((await harness.events()).map(({ type }) => type)).toContain("credential.unconfirmed");
  });

  it("a rotation without a delete operation leaves the old set to the user", async () => {
    const harness = await setup({ without: ["deleteCredential"] });
    await harness.begin();
    expect((await harness.workToEnd()).reason).toMatch(/must be deleted manually: .* deleteCredential$/);
    const left = (await harness.events()).find(({ type }) => type === "credential.orphaned");
    expect(left?.fields.credentialsId).toBe(harness.rotation.credentialsId);
    // The next one starts with the set that holds, not with what was left.
    expect((await harness.begin()).oldId).toBe(`${harness.rotation.credentialsId}-20261120T0300Z`);
  });
});

describe("rotations that do not start", () => {
  it("a rotation does not start if the set has another type", async () => {
    const harness = await setup({ rotation: { type: "newest" } });
    expect(await refusalOf(harness.begin())).toMatch(
      /ROTATION_STATE_CONFLICT .* is of type psk, and rotations.* says newest/,
    );
  });

  it("a rotation does not start if the folder of a file sink is missing", async () => {
    const harness = await RotationHarness.open({ place, rotation: { sinks: [{ file: "/no/such/folder/key" }] } });
    expect(await refusalOf(harness.begin())).toMatch(
      /CONFIG_INVALID .*sinks.0: nothing can be written into \/no\/such\/folder/s,
    );
  });
});

describe("rotations that cannot continue", () => {
  it("a rotation ends before any platform call when a sink rejects permanently", async () => {
    const harness = await setup({ withWebhook: true });
    harness.answers.push(410);
    await harness.begin();
    expect(await harness.work()).toEqual({ kind: "ended" });
    expect(await harness.record()).toMatchObject({ state: "failed" });
    expect(harness.sets).toEqual({ [harness.rotation.credentialsId]: oldSecret });
    const failed = (await harness.events()).find(({ type }) => type === "credential.failed");
    expect(failed?.fields).toMatchObject({ sinks: `file ${harness.sinkFile}` });
    expect(failed?.fields.reason).toMatch(/sink webhook 127.0.0.1:\d+ did not accept the new secret: it returned 410/);
    // It can be started again.
    await harness.begin();
    expect((await harness.workToEnd()).state).toBe("done");
    expect(Object.values(harness.sets)).toEqual([harness.handed]);
  });

  it("a rotation ends only after a sink has failed too often", async () => {
    const harness = await setup({ withWebhook: true });
    harness.answers.push(503, 503, 503, 503, 503);
    await harness.begin();
    expect((await harness.workToEnd()).state).toBe("done");
    harness.answers.push(503, 503, 503, 503, 503, 503);
    await harness.begin();
    expect((await harness.workToEnd()).state).toBe("failed");
  });

  it("a rotation restores repointed groups and deletes the successor when the platform rejects a group change", async () => {
    const harness = await setup();
    harness.nameInGroups(harness.rotation.credentialsId);
    const before = JSON.stringify(harness.configurations);
    const { groups } = harness.sandbox.state;
    const configure = groups.configure.bind(groups);
    groups.configure = (groupId, namespace, entries) =>
      configure(groupId, namespace === "SoracomFunk" ? "not a namespace" : namespace, entries);
    await harness.begin();
    const record = await harness.workToEnd();
    expect(record.state).toBe("failed");
    expect(record.groups).toHaveLength(2);
    expect(JSON.stringify(harness.configurations)).toBe(before);
    expect(harness.sets).toEqual({ [harness.rotation.credentialsId]: oldSecret });
  });

  it("a rotation does not reveal a secret that the platform echoes", async () => {
    const harness = await setup();
    await harness.begin();
    const record = await harness.workToEnd(harness.context(echoing));
    expect(record.reason).toBe("createCredential: rejected (400 ECHO: [secret])");
    expect(JSON.stringify([record, await harness.events(), harness.incidents])).not.toContain(harness.handed);
  });

  it("a rotation leaves everything unchanged when the new secret cannot be generated", async () => {
    const harness = await setup({
      rotation: { generate: undefined, from: { command: ["sh", "-c", "echo no luck >&2; exit 3"], field: "key" } },
    });
    await harness.begin();
    expect((await harness.workToEnd()).reason).toBe(
      "the new secret could not be generated: the command of `from`: sh ended with exit code 3",
    );
    expect(harness.handed).toBeUndefined();
    expect(harness.sets).toEqual({ [harness.rotation.credentialsId]: oldSecret });
  });
});

it("a sink command receives the secret on standard input and its purpose in the environment", async () => {
  const harness = await RotationHarness.open({ place });
  const out = join(harness.folder, "stored");
  const script = `cat >"$0"; env >"$0.seen"; tr "\\0" " " </proc/$$/cmdline >>"$0.seen"`;
  Object.assign(harness.rotation, { sinks: [{ command: ["sh", "-c", script, out] }] });
  await harness.begin();
  const record = await harness.workToEnd();
  expect(record.state).toBe("done");
  const stored = readFileSync(out, "utf8");
  expect(Object.values(harness.sets)).toEqual([stored]);
  const seen = readFileSync(`${out}.seen`, "utf8");
  expect(seen).toContain(`SIMFLEET_ROTATION_ID=${record.rotationId}`);
  expect(seen).not.toContain(stored);
});

describe("rotations that wait for a manual fix", () => {
  /** A rotation whose webhook has failed, a minute later. */
  async function setupRetry(options: Pick<HarnessOptions, "without"> = {}): Promise<RotationHarness> {
    const harness = await setup({ ...options, withWebhook: true });
    harness.answers.push(503);
    await harness.begin();
    await harness.work();
    harness.clock.pass(60_000);
    return harness;
  }

  it("a rotation waits without loss for a fix when its seal key was changed", async () => {
    const harness = await setupRetry({ without: ["listGroups", "putGroupConfiguration"] });
    const workWith = (previousKey: Secret | undefined) => {
      const key = new Secret(Buffer.alloc(32).toString("base64url"));
      return harness.work({ ...harness.context(), seal: openSeal({ key, previousKey }) });
    };
    await workWith(undefined);
    expect(await harness.record()).toMatchObject({ state: "generated", waitsFor: "fault" });
    expect((await harness.record()).reason).toContain("seal.previousKeyFile");
    harness.clock.pass(60_000);
    await workWith(harness.key);
    expect((await harness.record()).state).toBe("created");
    expect(harness.heard).toEqual([harness.handed]);
  });

  it("a rotation waits for a fix when it was removed from the configuration", async () => {
    const harness = await setupRetry();
    await harness.work({ ...harness.context(), rotations: {} });
    expect((await harness.record()).reason).toMatch(/no longer in the configuration: add it back/);
    harness.clock.pass(60_000);
    expect((await harness.workToEnd()).state).toBe("done");
  });
});

it("a finished rotation leaves no secret registered for scrubbing", async () => {
  const harness = await setup({ withWebhook: true });
  const known = new Set(liveSecrets());
  await harness.begin();
  await harness.workToEnd();
  const left = liveSecrets().filter((secret) => !known.has(secret) && secret === harness.handed);
  expect(left).toEqual([]);
});
