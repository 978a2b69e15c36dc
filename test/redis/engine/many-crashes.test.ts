/** Durable work survives many crashes in a row, while the platform stumbles and answers are lost. */
import { afterAll, expect, it } from "vitest";
import { seeds } from "../../support/long.ts";
import { openTestRedis } from "../../support/redis.ts";
import { sandboxFor } from "../authkeys/key-harness.ts";
import { beginAuthKeyBySeed } from "./authkey-crashes.ts";
import { surviveManyCrashes } from "./crashes.ts";
import { beginCredentialsBySeed } from "./credential-crashes.ts";

const place = openTestRedis();
const sandbox = await sandboxFor({ revokeKillsPairs: true });
afterAll(() => sandbox.close());

it("credential rotations survive many crashes by seed", { timeout: 600_000 }, async () => {
  const ends = await surviveManyCrashes(seeds(5, 60), 0.08, (seed) => beginCredentialsBySeed(place, seed));
  expect(Object.keys(ends).toSorted()).toEqual(["new secret", "old secret"]);
});

it("AuthKey rotations survive many crashes by seed", { timeout: 600_000 }, async () => {
  const begin = (seed: number, random: () => number) => beginAuthKeyBySeed({ ...place, sandbox }, seed, random);
  const ends = await surviveManyCrashes(seeds(6, 40), 0.12, begin);
  expect(Object.keys(ends).toSorted()).toEqual(["done", "failed"]);
});
