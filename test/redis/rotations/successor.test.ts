/** Rotations by a successor, from the first look to the last. */
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ConfigError, PlatformError, SimfleetError } from "#core/errors.ts";
import { Secret } from "#core/secret.ts";
import type { RotationAccount } from "#jobs/rotations/account-sets.ts";
import { Seal } from "#store/seal.ts";
import { openTestRedis } from "../../support/redis.ts";
import { type HouseOptions, oldSecret, RotationHouse } from "./rotation-house.ts";

const place = openTestRedis();

const open = (options: Omit<HouseOptions, "place"> = {}): Promise<RotationHouse> =>
  RotationHouse.open({ place, ...options });

async function refusalOf(promise: Promise<unknown>): Promise<string> {
  const thrown: unknown = await promise.catch((error: unknown) => error);
  if (thrown instanceof ConfigError || thrown instanceof SimfleetError) return `${thrown.code} ${thrown.message}`;
  throw new Error(`no refusal but ${String(thrown)}`);
}

const hourMs = 3_600_000;

describe("a rotation by a successor", () => {
  it("hands over, creates, re-points, waits for the old set to be out of use, and deletes it", async () => {
    const house = await open({ withWebhook: true });
    const { credentialsId } = house.rotation;
    house.makeOldSet();
    house.nameInGroups(credentialsId);
    const configured = JSON.stringify(house.configurations);
    await house.begin();
    const waiting = await house.work();
    const { newId, state, waitsFor } = await house.record();
    expect([state, waitsFor, waiting]).toMatchObject([
      "repointed",
      "grace",
      { kind: "postponed", delayMs: hourMs, scope: "job" },
    ]);
    expect(newId).toBe(`${credentialsId}-20261120T0300Z`);
    expect(house.sets).toEqual({ [credentialsId]: oldSecret, [newId]: house.handed });
    expect(statSync(house.sinkFile).mode & 0o777).toBe(0o600);
    expect(house.heard).toEqual([house.handed]);
    expect(house.handed).toMatch(/^[\w-]{43}$/);
    expect(await house.sealed()).toBe(house.handed);
    const named = configured.replaceAll(/("\$?credentialsId":)"psk-p-[^"]*"/g, `$1"${newId}"`);
    expect(JSON.stringify(house.configurations)).toBe(named);
    house.clock.pass(hourMs);
    expect(await house.work()).toEqual({ kind: "ended" });
    const done = await house.record();
    expect(done).toMatchObject({ state: "done", currentId: newId });
    expect(done.sealed).toBeUndefined();
    expect(house.sets).toEqual({ [newId]: house.handed });
    const kinds = (await house.events()).map(({ type }) => type.slice("credential.".length));
    expect(kinds).toEqual(["handed-over", "handed-over", "created", "repointed", "unused", "rotated"]);
  });

  it("goes on from its own successor another time", async () => {
    const house = await open();
    house.makeOldSet();
    await house.begin();
    await house.workToEnd();
    const first = house.handed;
    await house.begin();
    const { oldId, newId, state } = await house.workToEnd();
    expect([state, oldId]).toEqual(["done", `${house.rotation.credentialsId}-20261120T0300Z`]);
    expect(house.sets).toEqual({ [newId]: house.handed });
    expect(house.handed).not.toBe(first);
  });

  it("needs no set before it", async () => {
    const house = await open();
    await house.begin();
    expect(await house.work()).toEqual({ kind: "ended" });
    expect(Object.values(house.sets)).toEqual([house.handed]);
  });

  it("makes groups name the first set that is there, where they named one that was not", async () => {
    const house = await open();
    const { credentialsId } = house.rotation;
    house.nameInGroups(credentialsId);
    await house.begin();
    const { newId, state } = await house.workToEnd();
    expect(state).toBe("done");
    expect(house.sets).toEqual({ [newId]: house.handed });
    const configured = JSON.stringify(house.configurations);
    expect(configured).toContain(`redentialsId":"${newId}"`);
    expect(configured).not.toContain(`redentialsId":"${credentialsId}"`);
  });

  it("does not begin twice, nor with the same id as a set that is there", async () => {
    const house = await open();
    house.makeOldSet();
    house.makeOldSet(`${house.rotation.credentialsId}-20261120T0300Z`);
    const first = await house.begin();
    expect(first.oldId).toBe(`${house.rotation.credentialsId}-20261120T0300Z`);
    expect(first.newId).toBe(`${house.rotation.credentialsId}-20261120T0301Z`);
    expect((await house.begin()).rotationId).toBe(first.rotationId);
  });

  it("waits on while the old set is used, and says so once for each use", async () => {
    const house = await open();
    const { credentialsId } = house.rotation;
    house.makeOldSet();
    await house.begin();
    await house.work();
    for (let used = 0; used < 3; used += 1) {
      house.clock.pass(hourMs - 60_000);
      house.sandbox.state.credentials.noteUse(credentialsId);
      house.clock.pass(61_000);
      expect(await house.work()).toMatchObject({ kind: "postponed" });
      expect(Object.keys(house.sets)).toContain(credentialsId);
    }
    expect((await house.workToEnd()).state).toBe("done");
    expect((await house.events()).filter(({ type }) => type === "credential.in-use")).toHaveLength(3);
  });

  it("never deletes what a placeholder may mean, until it does not any more", async () => {
    const house = await open();
    const { credentialsId } = house.rotation;
    house.makeOldSet();
    house.nameInGroups(credentialsId);
    house.nameByPlaceholder(`psk-#{tag.device}`);
    await house.begin();
    expect(await house.workToEnd()).toMatchObject({ state: "repointed", waitsFor: "reference" });
    expect((await house.record()).reason).toMatch(
      /is not deleted while SoracomBeam of group \S+ \(by placeholder\) may mean it$/,
    );
    for (let look = 0; look < 20; look += 1) {
      house.clock.pass(hourMs);
      await house.work();
    }
    expect(Object.keys(house.sets)).toContain(credentialsId);
    expect((await house.events()).filter(({ type }) => type === "credential.unconfirmed")).toHaveLength(2);
    house.nameByPlaceholder("other-#{imsi}");
    house.clock.pass(hourMs);
    expect((await house.workToEnd()).state).toBe("done");
    expect(Object.keys(house.sets)).not.toContain(credentialsId);
  });

  it("keeps the old set while a group that came later names it", async () => {
    const house = await open();
    house.makeOldSet();
    await house.begin();
    await house.work();
    house.nameInGroups(house.rotation.credentialsId);
    expect(await house.workToEnd()).toMatchObject({ state: "repointed", waitsFor: "reference" });
    expect(Object.keys(house.sets)).toContain(house.rotation.credentialsId);
  });

  it("keeps the old set when the new one is gone", async () => {
    const house = await open();
    house.makeOldSet();
    await house.begin();
    await house.work();
    house.sandbox.state.credentials.delete((await house.record()).newId);
    house.clock.pass(hourMs);
    await house.work();
    const failing = await house.record();
    expect(failing).toMatchObject({ state: "repointed", waitsFor: "fault" });
    expect(failing.problem).toMatchObject({ message: failing.reason, nextAttemptMs: failing.nextAtMs });
    expect(failing.problem?.attempts).toBeGreaterThan(0);
    expect(house.sets).toEqual({ [house.rotation.credentialsId]: oldSecret });
  });
});

describe("a deployment", () => {
  it("without groups leaves re-pointing to a person, who confirms it", async () => {
    const house = await open({ without: ["listGroups", "putGroupConfiguration"] });
    house.makeOldSet();
    await house.begin();
    const waiting = await house.workToEnd();
    expect(waiting).toMatchObject({ state: "created", waitsFor: "confirmation" });
    expect(waiting.reason).toContain(`simfleet credentials confirm ${house.rotation.name}`);
    const context = house.context();
    await context.log.move(waiting, { confirmedAtMs: house.clock.wallMs(), nextAtMs: 0 });
    expect((await house.workToEnd()).state).toBe("done");
    expect(Object.values(house.sets)).toEqual([house.handed]);
    expect((await house.events()).map(({ type }) => type)).toContain("credential.unconfirmed");
  });

  it("that can list groups and not change them waits until they were changed", async () => {
    const house = await open({ without: ["putGroupConfiguration"] });
    house.makeOldSet();
    house.nameInGroups(house.rotation.credentialsId);
    await house.begin();
    expect(await house.workToEnd()).toMatchObject({ state: "created", waitsFor: "reference" });
    house.nameInGroups((await house.record()).newId);
    house.clock.pass(hourMs);
    expect((await house.workToEnd()).state).toBe("done");
  });

  it("without deletion leaves the old set to a person", async () => {
    const house = await open({ without: ["deleteCredential"] });
    house.makeOldSet();
    await house.begin();
    expect((await house.workToEnd()).reason).toMatch(/has to be deleted by a person: .* deleteCredential$/);
    const left = (await house.events()).find(({ type }) => type === "credential.orphaned");
    expect(left?.fields.credentialsId).toBe(house.rotation.credentialsId);
    // The next one begins with the set that holds, not with what was left.
    expect((await house.begin()).oldId).toBe(`${house.rotation.credentialsId}-20261120T0300Z`);
  });

  it("without a list says what it lacks before anything happens", async () => {
    const house = await open({ without: ["listCredentials"] });
    expect(await refusalOf(house.begin())).toMatch(
      /CONFIG_INVALID .*Rotating Credential Sets needs this operation, and the deployment soracom does not have it.*GET/s,
    );
    expect(house.handed).toBeUndefined();
  });
});

describe("nothing begins", () => {
  it("where there is no room for a successor", async () => {
    const house = await open();
    for (let i = 0; i < 100; i += 1) house.makeOldSet(`set-${i}`);
    expect(await refusalOf(house.begin())).toMatch(/ROTATION_STATE the account holds 100 Credential Sets/);
  });

  it("where the set is of another type", async () => {
    const house = await open({ rotation: { type: "newest" } });
    house.makeOldSet();
    expect(await refusalOf(house.begin())).toMatch(/ROTATION_STATE .* is of type psk, and rotations.* says newest/);
  });

  it("where a sink has no folder", async () => {
    const house = await open({ rotation: { sinks: [{ kind: "file", path: "/no/such/folder/key" }] } });
    expect(await refusalOf(house.begin())).toMatch(
      /CONFIG_INVALID .*sinks.0: nothing can be written into \/no\/such\/folder/s,
    );
  });
});

describe("a rotation that cannot go on", () => {
  it("because a sink refuses for good is over before the platform hears of it", async () => {
    const house = await open({ withWebhook: true });
    house.makeOldSet();
    house.answers.push(410);
    await house.begin();
    expect(await house.work()).toEqual({ kind: "ended" });
    expect(await house.record()).toMatchObject({ state: "failed" });
    expect(house.sets).toEqual({ [house.rotation.credentialsId]: oldSecret });
    const failed = (await house.events()).find(({ type }) => type === "credential.failed");
    expect(failed?.fields).toMatchObject({ sinks: `file ${house.sinkFile}` });
    expect(failed?.fields.reason).toMatch(
      /the sink webhook 127.0.0.1:\d+ did not take the new secret: it answered 410/,
    );
    // It can be begun again.
    await house.begin();
    expect((await house.workToEnd()).state).toBe("done");
    expect(Object.values(house.sets)).toEqual([house.handed]);
  });

  it("because a sink fails too often is over then, and not before", async () => {
    const house = await open({ withWebhook: true });
    house.makeOldSet();
    house.answers.push(503, 503, 503, 503, 503);
    await house.begin();
    expect((await house.workToEnd()).state).toBe("done");
    house.answers.push(503, 503, 503, 503, 503, 503);
    await house.begin();
    expect((await house.workToEnd()).state).toBe("failed");
  });

  it("because the platform refuses a group's change points back what was pointed, and deletes the successor", async () => {
    const house = await open();
    house.makeOldSet();
    house.nameInGroups(house.rotation.credentialsId);
    const before = JSON.stringify(house.configurations);
    const { groups } = house.sandbox.state;
    const configure = groups.configure.bind(groups);
    groups.configure = (groupId, namespace, entries) =>
      configure(groupId, namespace === "SoracomFunk" ? "not a namespace" : namespace, entries);
    await house.begin();
    const record = await house.workToEnd();
    expect(record.state).toBe("failed");
    expect(record.groups).toHaveLength(2);
    expect(JSON.stringify(house.configurations)).toBe(before);
    expect(house.sets).toEqual({ [house.rotation.credentialsId]: oldSecret });
  });

  it("says nothing of the secret that the platform throws back at it", async () => {
    const house = await open();
    house.makeOldSet();
    const context = house.context((name, thing) => {
      if (name !== "client") return thing;
      const call = (operation: { id: string }, input: unknown, options: object): unknown => {
        const { call: real } = thing as unknown as RotationAccount["client"];
        if (operation.id !== "createCredential") return real.call(thing, operation as never, input as never, options);
        const { credentials } = input as { credentials: { key: Secret } };
        const words = `createCredential: refused (400 ECHO: ${credentials.key.reveal()})`;
        throw new PlatformError("PLATFORM_REJECTED", words, { operation: operation.id });
      };
      return new Proxy(thing, {
        get: (target, property) => {
          const value: unknown = property === "call" ? call : Reflect.get(target, property, target);
          return typeof value === "function" && property !== "call" ? (value.bind(target) as unknown) : value;
        },
      });
    });
    await house.begin();
    const record = await house.workToEnd(context);
    expect(record.reason).toBe("createCredential: refused (400 ECHO: [secret])");
    expect(JSON.stringify([record, await house.events(), house.troubles])).not.toContain(house.handed);
  });

  it("because the new secret does not come to be leaves everything as it was", async () => {
    const house = await open({
      rotation: { source: { kind: "command", command: ["sh", "-c", "echo no luck >&2; exit 3"], field: "key" } },
    });
    house.makeOldSet();
    await house.begin();
    expect((await house.workToEnd()).reason).toBe(
      "the new secret was not made: the command of `from`: sh ended with exit code 3",
    );
    expect(house.handed).toBeUndefined();
    expect(house.sets).toEqual({ [house.rotation.credentialsId]: oldSecret });
  });
});

it("a sink program is given the secret by its input, and knows what it is for", async () => {
  const house = await open();
  const out = join(house.folder, "stored");
  const script = `cat >"$0"; env >"$0.seen"; tr "\\0" " " </proc/$$/cmdline >>"$0.seen"`;
  Object.assign(house.rotation, { sinks: [{ kind: "command", command: ["sh", "-c", script, out] }] });
  await house.begin();
  const record = await house.workToEnd();
  expect(record.state).toBe("done");
  const stored = readFileSync(out, "utf8");
  expect(Object.values(house.sets)).toEqual([stored]);
  const seen = readFileSync(`${out}.seen`, "utf8");
  expect(seen).toContain(`SIMFLEET_ROTATION_ID=${record.rotationId}`);
  expect(seen).not.toContain(stored);
});

describe("a person's hand", () => {
  it("is waited for when the key that seals was changed, and nothing is lost", async () => {
    const house = await open({ without: ["listGroups", "putGroupConfiguration"], withWebhook: true });
    house.makeOldSet();
    house.answers.push(503);
    await house.begin();
    await house.work();
    house.clock.pass(60_000);
    const { key } = house;
    const other = house.context();
    const changed = {
      ...other,
      seal: new Seal({ key: new Secret(Buffer.alloc(32).toString("base64url")), previousKey: undefined }),
    };
    await house.work(changed);
    expect(await house.record()).toMatchObject({ state: "generated", waitsFor: "fault" });
    expect((await house.record()).reason).toContain("seal.previousKeyFile");
    house.clock.pass(60_000);
    await house.work({
      ...changed,
      seal: new Seal({ key: new Secret(Buffer.alloc(32).toString("base64url")), previousKey: key }),
    });
    expect((await house.record()).state).toBe("created");
    expect(house.heard).toEqual([house.handed]);
  });

  it("is waited for when the rotation was taken out of the configuration", async () => {
    const house = await open({ withWebhook: true });
    house.makeOldSet();
    house.answers.push(503);
    await house.begin();
    await house.work();
    house.clock.pass(60_000);
    await house.work({ ...house.context(), rotationOf: () => undefined });
    expect((await house.record()).reason).toMatch(/no longer in the configuration: put it back/);
    house.clock.pass(60_000);
    expect((await house.workToEnd()).state).toBe("done");
  });
});
