/** The client of the library where its quota is spent, its credentials are wrong, or it is aborted. */
import { expect, inject, onTestFinished, test } from "vitest";
import { type Client, type ClientOptions, openClient } from "#library/api.ts";
import { openLimiter } from "#library/limiter.ts";
import { startSandbox } from "#library/sandbox.ts";
import { testKeys } from "../../support/redis.ts";

function redisUrl(): string {
  const redis = inject("redis");
  if ("failure" in redis) throw new Error(redis.failure);
  return redis.url;
}

async function open(
  sandboxOptions: Parameters<typeof startSandbox>[0],
  options: Partial<ClientOptions> = {},
): Promise<{ client: Client; simIds: readonly string[]; keyPrefix: string }> {
  const sandbox = await startSandbox(sandboxOptions);
  const keyPrefix = testKeys().prefix;
  const { url: endpoint, authKeyId, authKey } = sandbox;
  const client = openClient({ endpoint, authKeyId, authKey, redis: redisUrl(), keyPrefix, ...options });
  onTestFinished(async () => {
    await client.close();
    await sandbox.close();
  });
  return { client, simIds: sandbox.simIds(), keyPrefix };
}

test("a client waits for the next window when its quota is spent, and makes every change", async () => {
  const { client, simIds, keyPrefix } = await open(
    { sims: 20, limits: { Sim: 8 }, periodSeconds: 3 },
    { periodMs: 3_000 },
  );
  const changed = await Promise.all(simIds.map((simId) => client.setSpeedClass(simId, "s1.slow")));
  expect(changed.map(({ simId, speedClass }) => [simId, speedClass])).toEqual(simIds.map((id) => [id, "s1.slow"]));
  const limiter = openLimiter({ redis: redisUrl(), keyPrefix, periodMs: 3_000 });
  onTestFinished(() => limiter.close());
  expect(await limiter.state("default.Sim")).toMatchObject({ limit: 8, inFlight: 0 });
});

test("a client reads all pages of the list, in its order", async () => {
  const { client, simIds } = await open({ sims: 250 });
  const read: unknown[] = [];
  for await (const { simId } of client.sims()) read.push(simId);
  expect(read).toEqual(simIds);
});

test("a client with a wrong AuthKey gets an error with a stable code", async () => {
  const { client } = await open({ sims: 1 }, { authKey: "wrong" });
  await expect(client.sims().next()).rejects.toMatchObject({ code: "PLATFORM_UNAUTHORIZED" });
});

test("a client that waits for its quota stops at once when its signal aborts", async () => {
  const { client, simIds } = await open({ sims: 3, limits: { Sim: 1 } });
  const [first = "", second = ""] = simIds;
  await client.setSpeedClass(first, "s1.slow");
  const stop = new AbortController();
  const waiting = client.setSpeedClass(second, "s1.slow", { signal: stop.signal });
  stop.abort(new Error("enough"));
  await expect(waiting).rejects.toThrow("enough");
});

test("a client refuses an address of Redis that is not valid", () => {
  const options = { endpoint: "http://127.0.0.1:1", authKeyId: "keyId-x", authKey: "x", redis: "localhost" };
  expect(() => openClient(options)).toThrow(expect.objectContaining({ code: "CONFIG_INVALID" }));
});
