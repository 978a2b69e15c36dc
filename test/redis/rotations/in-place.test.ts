/** Rotations that give a set another secret. */
import { expect, it } from "vitest";
import type { Rotation } from "#jobs/credentials/config.ts";
import { checkAges } from "#jobs/credentials/work.ts";
import { openTestRedis } from "../../support/redis.ts";
import { type HarnessOptions, oldSecret, RotationHarness } from "./rotation-harness.ts";

const place = openTestRedis();

async function setup(options: Omit<HarnessOptions, "place"> = {}): Promise<RotationHarness> {
  const rotation = { strategy: "in-place", ...options.rotation } as const;
  return RotationHarness.open({ place, ...options, rotation });
}

const rotated = ["credential.handed-over", "credential.created", "credential.rotated"];

it("an in-place rotation delivers the new secret, updates the set, and verifies the update", async () => {
  const harness = await setup();
  const { credentialsId } = harness.rotation;
  harness.makeOldSet();
  await harness.begin();
  expect(await harness.work()).toEqual({ kind: "ended" });
  expect(await harness.record()).toMatchObject({ state: "done", currentId: credentialsId });
  expect(harness.sets).toEqual({ [credentialsId]: harness.handed });
  expect((await harness.events()).map(({ type }) => type)).toEqual(rotated);
});

it("an in-place rotation creates a missing set, also if the response is lost", async () => {
  const harness = await setup();
  const { credentialsId } = harness.rotation;
  harness.sandbox.faults.next("lost-answer", 1, "createCredential");
  await harness.begin();
  expect(await harness.workToEnd()).toMatchObject({ state: "done", currentId: credentialsId });
  expect(harness.sets).toEqual({ [credentialsId]: harness.handed });
  expect((await harness.events()).map(({ type }) => type)).toEqual(rotated);
});

it("an in-place rotation that the platform rejects ends and reports who has the new value", async () => {
  const harness = await setup();
  harness.makeOldSet();
  const { credentials } = harness.sandbox.state;
  const update = credentials.update.bind(credentials);
  credentials.update = (credentialsId) => update(credentialsId, { type: "psk", credentials: {} });
  await harness.begin();
  expect(await harness.workToEnd()).toMatchObject({ state: "failed" });
  expect(harness.sets).toEqual({ [harness.rotation.credentialsId]: oldSecret });
  const failed = (await harness.events()).find(({ type }) => type === "credential.failed");
  expect(failed?.fields.sinks).toBe(`file ${harness.sinkFile}`);
});

it("an in-place rotation passes all fields of its type to sinks and platform", async () => {
  const type = "username-password-credentials";
  const constants = { username: "broker" };
  const from: Rotation["from"] = { command: ["printf", "one\\r\\ntwo\\r\\n\\n"], field: "password" };
  const harness = await setup({ rotation: { type, generate: undefined, from, constants } });
  const { credentialsId } = harness.rotation;
  const { credentials } = harness.sandbox.state;
  credentials.create(credentialsId, { type, credentials: { ...constants, password: oldSecret } });
  harness.clock.pass(5_000);
  await harness.begin();
  expect((await harness.workToEnd()).reason).toBeUndefined();
  expect(credentials.secretOf(credentialsId)).toEqual({ username: "broker", password: "one\ntwo\n" });
  expect(harness.handed).toBe("one\ntwo\n");
});

it("a rotation reports once when its secret exceeds the maximum age", async () => {
  const harness = await setup({ rotation: { maxAgeMs: 86_400_000 } });
  harness.makeOldSet();
  for (let hours = 0; hours < 30; hours += 1) {
    await checkAges(harness.profile, harness.context(), new AbortController().signal);
    harness.clock.pass(3_600_000);
  }
  expect(await harness.events()).toEqual([
    { type: "credential.expiring", fields: expect.objectContaining({ credentialsId: harness.rotation.credentialsId }) },
  ]);
});
