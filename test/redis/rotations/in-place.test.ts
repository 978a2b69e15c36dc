/** Rotations that give a set another secret. */
import { expect, it } from "vitest";
import { openTestRedis } from "../../support/redis.ts";
import { type HouseOptions, oldSecret, RotationHouse } from "./rotation-house.ts";

const place = openTestRedis();

async function open(options: Omit<HouseOptions, "place"> = {}): Promise<RotationHouse> {
  const rotation = { strategy: "in-place", ...options.rotation } as const;
  return RotationHouse.open({ place, ...options, rotation });
}

it("hands over, updates and looks whether it was updated", async () => {
  const house = await open();
  const { credentialsId } = house.rotation;
  house.makeOldSet();
  await house.begin();
  expect(await house.work()).toEqual({ kind: "ended" });
  expect(await house.record()).toMatchObject({ state: "done", currentId: credentialsId });
  expect(house.sets).toEqual({ [credentialsId]: house.handed });
  expect((await house.events()).map(({ type }) => type)).toEqual([
    "credential.handed-over",
    "credential.created",
    "credential.rotated",
  ]);
});

it("sees an update also in the second of the one before", async () => {
  const house = await open();
  const { credentialsId } = house.rotation;
  house.sandbox.state.credentials.create(credentialsId, { type: "psk", credentials: { key: oldSecret } });
  await house.begin();
  expect((await house.workToEnd()).state).toBe("done");
  expect(house.sets).toEqual({ [credentialsId]: house.handed });
});

it("of a set that is not there does not begin", async () => {
  const house = await open();
  await expect(house.begin()).rejects.toThrow(/there is no Credential Set .* create it first/);
});

it("that the platform refuses is over, and says who has the new value", async () => {
  const house = await open();
  house.makeOldSet();
  const { credentials } = house.sandbox.state;
  const update = credentials.update.bind(credentials);
  credentials.update = (credentialsId) => update(credentialsId, { type: "psk", credentials: {} });
  await house.begin();
  expect(await house.workToEnd()).toMatchObject({ state: "failed" });
  expect(house.sets).toEqual({ [house.rotation.credentialsId]: oldSecret });
  const failed = (await house.events()).find(({ type }) => type === "credential.failed");
  expect(failed?.fields.sinks).toBe(`file ${house.sinkFile}`);
});

it("has all fields of its type, in what sinks and platform get", async () => {
  const house = await open({
    rotation: {
      type: "username-password-credentials",
      source: { kind: "command", command: ["printf", "one\\r\\ntwo\\r\\n\\n"], field: "password" },
      constants: { username: "broker" },
    },
  });
  const { credentialsId } = house.rotation;
  const { credentials } = house.sandbox.state;
  credentials.create(credentialsId, {
    type: "username-password-credentials",
    credentials: { username: "broker", password: oldSecret },
  });
  house.clock.pass(5_000);
  await house.begin();
  expect((await house.workToEnd()).reason).toBeUndefined();
  expect(credentials.secretOf(credentialsId)).toEqual({ username: "broker", password: "one\ntwo\n" });
  expect(house.handed).toBe("one\ntwo\n");
});

it("of a JSON object hands over a JSON object, and lacks nothing that the type needs", async () => {
  const source = (json: string) => ({ kind: "command", command: ["printf", "%s", json], field: undefined }) as const;
  const house = await open({ rotation: { type: "x509", source: source('{"key":"k","cert":"c"}') } });
  const { credentialsId } = house.rotation;
  const { credentials } = house.sandbox.state;
  credentials.create(credentialsId, { type: "x509", credentials: { key: "1", cert: "2", ca: "3" } });
  house.clock.pass(5_000);
  await house.begin();
  expect((await house.workToEnd()).reason).toMatch(/ca is missing. A Credential Set of type x509 needs key, cert, ca/);
  Object.assign(house.rotation, { source: source('{"key":"k","cert":"c","ca":"a"}') });
  await house.begin();
  expect((await house.workToEnd()).state).toBe("done");
  expect(credentials.secretOf(credentialsId)).toEqual({ key: "k", cert: "c", ca: "a" });
  expect(JSON.parse(house.handed ?? "")).toEqual({ key: "k", cert: "c", ca: "a" });
});

it("tells once of a secret that is older than it may be", async () => {
  const house = await open({ rotation: { maxAgeMs: 86_400_000 } });
  house.makeOldSet();
  for (let hours = 0; hours < 30; hours += 1) {
    await house.work();
    house.clock.pass(3_600_000);
  }
  expect(await house.events()).toEqual([
    { type: "credential.expiring", fields: expect.objectContaining({ credentialsId: house.rotation.credentialsId }) },
  ]);
});
