/** Data of another version: newer data are refused, and data of the layout before are moved once, whatever dies meanwhile. */
import type { Redis } from "ioredis";
import { beforeEach, describe, expect, inject, it, onTestFinished } from "vitest";
import { RedisConnections } from "#redis/connection.ts";
import { type DataVersionDeps, dataVersion, ensureDataVersion } from "#redis/data-version/data-version.ts";
import { Keys } from "#redis/keys.ts";
import { redisTarget } from "../../support/redis-target.ts";

const keys = new Keys();
/** A database that no other test uses: the old keys have a fixed prefix. */
const db = 11;
const tombstones = ["simfleet:queues", "simfleet:runs", "simfleet:events", "simfleet:buckets"];
const others = 1_300;

function connect(): Redis {
  const place = inject("redis");
  if ("failure" in place) throw new Error(`There is no Redis to test with: ${place.failure}`);
  const connections = new RedisConnections(redisTarget(place.url));
  onTestFinished(() => connections.close());
  return connections.connect("test", { db });
}

let redis: Redis;
beforeEach(async () => {
  redis = connect();
  await redis.flushdb();
});

/** Keys of every type, as an older simfleet left them; the worker of one queue was killed. */
async function storeOld(): Promise<void> {
  await redis.sadd("simfleet:queues", "calls-a", "calls-b");
  await redis.zadd("simfleet:runs", 1, "r-1");
  await redis.xadd("simfleet:events", "1-1", "type", "run.submitted");
  await redis.sadd("simfleet:buckets", "a");
  await redis.zadd("simfleet:workers:calls-a", 1, "w-killed");
  await redis.hset("simfleet:run:r-1", "state", "running");
  await redis.set("simfleet:schedule:s:message:m", "1", "EX", 1_000);
  await redis.lpush("simfleet:queue:calls-a:wait", "r-1-0");
  await redis.set("simfleetish:key", "of another program");
  const pipeline = redis.pipeline();
  for (let n = 0; n < others; n += 1) pipeline.hset(`simfleet:webhook:ops:delivery:${n}`, "n", String(n));
  await pipeline.exec();
}

async function expectMoved(): Promise<void> {
  expect(await redis.get(keys.dataVersion())).toBe(String(dataVersion));
  expect((await redis.keys("simfleet:*")).toSorted()).toEqual(tombstones.toSorted());
  for (const key of tombstones) expect(await redis.get(key)).toMatch(/^A newer simfleet has moved the data/);
  expect(await redis.smembers(keys.queueNames())).toHaveLength(2);
  expect(await redis.zrange(keys.runs(), "0", "-1")).toEqual(["r-1"]);
  expect(await redis.xlen(keys.events())).toBe(1);
  expect(await redis.hget(keys.run("r-1"), "state")).toBe("running");
  expect(await redis.lrange(`${keys.queues()}:calls-a:wait`, 0, -1)).toEqual(["r-1-0"]);
  const ttl = await redis.ttl(keys.triggered("s", "m"));
  expect(ttl).toBeGreaterThan(900);
  expect(ttl).toBeLessThanOrEqual(1_000);
  expect(await redis.keys("{simfleet}:webhook:ops:delivery:*")).toHaveLength(others);
  expect(await redis.get("simfleetish:key")).toBe("of another program");
  expect(await redis.exists(keys.dataVersionLock())).toBe(0);
}

function ensure(overrides: Partial<DataVersionDeps> = {}): Promise<void> {
  return ensureDataVersion({ redis, keys, mayBeOld: true, ...overrides });
}

/** A connection whose process dies with this command: before Redis has it, or before the reply comes. */
function dyingAt(own: Redis, count: number, moment: "before" | "after"): { dying: Redis; hasDied: () => boolean } {
  let commands = 0;
  const dying = new Proxy(own, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return async (...args: unknown[]): Promise<unknown> => {
        commands += 1;
        if (commands > count || (commands === count && moment === "before")) throw new Error("killed");
        const reply: unknown = await (value as (...all: unknown[]) => unknown).apply(target, args);
        if (commands === count) throw new Error("killed");
        return reply;
      };
    },
  });
  return { dying, hasDied: () => commands >= count };
}

describe("the version of the data", () => {
  it("the data version is set where there are no data and is read from then on", async () => {
    await ensure();
    await ensure();
    expect(await redis.keys("*")).toEqual([keys.dataVersion()]);
    expect(await redis.get(keys.dataVersion())).toBe(String(dataVersion));
  });

  it("a newer data version refuses this simfleet and changes nothing", async () => {
    await redis.set(keys.dataVersion(), dataVersion + 1);
    await redis.hset("simfleet:run:r-1", "state", "running");
    await expect(ensure()).rejects.toMatchObject({
      code: "STORE_UNAVAILABLE",
      exitCode: 4,
      message: `The data in Redis was written by a newer simfleet (data version ${dataVersion + 1}; this one reads ${dataVersion}): upgrade this simfleet`,
    });
    expect(await redis.keys("simfleet:*")).toEqual(["simfleet:run:r-1"]);
  });
});

describe("data of the layout before", () => {
  it("data of the previous layout are moved with their expiry, and tombstones are left where older workers begin", async () => {
    await storeOld();
    const moved: number[] = [];
    await ensure({ onMoved: (facts) => moved.push(facts.keys) });
    await expectMoved();
    expect(moved).toEqual([others + 8]);
  });

  it("data of the previous layout are moved once by several processes at the same time", async () => {
    await storeOld();
    const moved: number[] = [];
    const processes = Array.from({ length: 5 }, () =>
      ensure({ redis: connect(), onMoved: (facts) => moved.push(facts.keys) }),
    );
    await Promise.all(processes);
    await expectMoved();
    expect(moved).toHaveLength(1);
  });

  it("data of the previous layout are moved completely whichever command the process dies at", async () => {
    for (const moment of ["before", "after"] as const) {
      for (let count = 1; ; count += 1) {
        await redis.flushdb();
        await storeOld();
        const { dying, hasDied } = dyingAt(connect(), count, moment);
        const ended = await ensure({ redis: dying }).then(
          () => "ended",
          () => "killed",
        );
        // The lease of the killed process expires.
        await redis.del(keys.dataVersionLock());
        await ensure();
        await expectMoved();
        if (!hasDied()) {
          expect(ended).toBe("ended");
          expect(count).toBeGreaterThan(8);
          break;
        }
      }
    }
  });

  it("data of the previous layout are moved by the next process once the lease of a killed one has expired", async () => {
    await storeOld();
    const { dying } = dyingAt(connect(), 6, "after");
    await expect(ensure({ redis: dying, leaseMs: 300 })).rejects.toThrow("killed");
    expect(await redis.pttl(keys.dataVersionLock())).toBeGreaterThan(0);
    await ensure();
    await expectMoved();
  });

  it("data of the previous layout stay unchanged while an older worker is live", async () => {
    await storeOld();
    const [seconds] = await redis.time();
    await redis.zadd("simfleet:workers:calls-b", (Number(seconds) + 5) * 1_000, "w-live");
    const before = (await redis.keys("*")).toSorted();
    await expect(ensure()).rejects.toMatchObject({
      code: "STORE_UNAVAILABLE",
      message: expect.stringMatching(/^A worker of an older simfleet is running \(queue calls-b\): stop all of them/),
    });
    expect((await redis.keys("*")).toSorted()).toEqual(before);
    await redis.zrem("simfleet:workers:calls-b", "w-live");
    await ensure();
    await expectMoved();
  });

  it("data of the previous layout do not overwrite data of the new one", async () => {
    await storeOld();
    await redis.hset(keys.run("r-1"), "state", "completed");
    await expect(ensure()).rejects.toMatchObject({
      message:
        "The data of an older simfleet cannot be moved: Redis has the key {simfleet}:run:r-1 already. Delete one of the two",
    });
    expect(await redis.hget("simfleet:run:r-1", "state")).toBe("running");
    await redis.del(keys.run("r-1"));
    await ensure();
    await expectMoved();
  });

  it("data of the previous layout need a user of Redis that may move them", async () => {
    await storeOld();
    await redis.acl("SETUSER", "mover", "reset", "on", ">word", "~{simfleet}:*", "+@all");
    onTestFinished(() => void connect().acl("DELUSER", "mover"));
    const own = connect();
    await own.auth("mover", "word");
    await expect(ensure({ redis: own })).rejects.toMatchObject({
      message: expect.stringMatching(/add ~simfleet:\* to its ACL until they are moved$/),
    });
    await redis.acl("SETUSER", "mover", "~simfleet:*");
    await ensure({ redis: own });
    await expectMoved();
  });
});
