/** Redis's clock is set back by an hour: times stored before must not stay valid for that hour. */
import { readFileSync } from "node:fs";
import { beforeEach, describe, expect, it } from "vitest";
import { bucketScriptParts, keysOfBucket } from "#limiter/limiter.ts";
import { Keys } from "#redis/keys.ts";
import { readLua } from "#redis/script.ts";
import { openTestRedis } from "../../support/redis.ts";

const { redis, keys } = openTestRedis();
const source = (path: string): string => readFileSync(new URL(`../../../src/${path}`, import.meta.url), "utf8");
const hourMs = 3_600_000;
const beginMs = Date.UTC(2026, 10, 20);

let nth = 0;
let key = "";
beforeEach(() => {
  nth += 1;
  key = `${keys.prefix}:clock:${nth}`;
});

/** Runs a script as it is, but for where it reads the time. */
function runAt<T>(
  nowMs: number,
  script: string,
  scriptKeys: readonly string[],
  args: readonly (string | number)[],
): Promise<T> {
  const clock = `{ '${Math.floor(nowMs / 1_000)}', '${(nowMs % 1_000) * 1_000}' }`;
  const steered = script.replaceAll("redis.call('TIME')", clock);
  expect(steered).not.toBe(script);
  return redis.eval(steered, scriptKeys.length, ...scriptKeys, ...args) as Promise<T>;
}

describe("a rate limit after the clock is set back by an hour", () => {
  const pace = source("limiter/pace.lua");
  const ask = async (nowMs: number, spacingMs: number): Promise<{ granted: number; waitMs: number }> => {
    const [granted, wait] = await runAt<[number, string]>(nowMs, pace, [key], [spacingMs, 1]);
    return { granted, waitMs: Number(wait) };
  };

  it("a rate limit continues after one interval when the clock is set back", async () => {
    expect(await ask(beginMs, 6_000)).toEqual({ granted: 1, waitMs: 5_950 });
    expect(await ask(beginMs + 1_000, 6_000)).toEqual({ granted: 0, waitMs: 4_950 });
    expect(await ask(beginMs + 2_000 - hourMs, 6_000)).toEqual({ granted: 0, waitMs: 6_000 });
    expect(await ask(beginMs + 8_000 - hourMs, 6_000)).toEqual({ granted: 1, waitMs: 6_000 });
  });

  it("a rate limit is not exceeded after the clock is set back", async () => {
    await ask(beginMs, 1_000);
    let granted = 0;
    for (let ms = 0; ms < 20_000; ms += 100) granted += (await ask(beginMs - hourMs + ms, 1_000)).granted;
    expect(granted).toBeGreaterThanOrEqual(18);
    expect(granted).toBeLessThanOrEqual(20);
  });

  it("a rate limit that was raised does not wait for its previous longer interval", async () => {
    await ask(beginMs, 600_000);
    expect(await ask(beginMs + 1, 1_000)).toEqual({ granted: 0, waitMs: 1_000 });
  });
});

describe("a bucket after the clock is set back by an hour", () => {
  it("a bucket takes a larger demand than before the clock was set back", async () => {
    const script = bucketScriptParts.map(readLua).join("\n");
    const own = keysOfBucket(new Keys(key), "b");
    const ask = async (nowMs: number, backlog: number): Promise<number> =>
      (
        await runAt<number[]>(nowMs, script, own, ["b", 60_000, 0, 45_000, "p", 1, backlog, "normal", backlog, 0, 0])
      )[3] ?? 0;
    expect(await ask(beginMs, 5)).toBe(1);
    expect(await ask(beginMs - hourMs, 9)).toBe(1);
  });
});

describe("leases of dead processes after the clock is set back by an hour", () => {
  it("a dead process's lease keeps a cancelled run ending for its usual time after the clock is set back", async () => {
    const [run, hands] = [`${key}:run`, `${key}:hands`];
    const script = (name: string): string => source(`jobs/runs/ledger/scripts/${name}.lua`);
    await redis.hset(run, "state", "running");
    await runAt(beginMs, script("hold-run"), [run, hands, `${key}:yields`], [10_000, "dead"]);
    await redis.hset(run, "state", "cancelled");
    const handsAt = async (nowMs: number): Promise<number | undefined> =>
      (await runAt<[string[], number][]>(nowMs, script("read-run"), [run, hands], [10_000]))[0]?.[1];
    expect(await handsAt(beginMs - hourMs)).toBe(1);
    expect(await handsAt(beginMs - hourMs + 9_000)).toBe(1);
    expect(await handsAt(beginMs - hourMs + 11_000)).toBe(0);
  });

  it("a dead process's lease keeps an AuthKey in use for its usual time after the clock is set back", async () => {
    const announce = source("engine/queue/live-workers.lua");
    const say = (nowMs: number, worker: string): Promise<unknown> =>
      runAt(nowMs, announce, [key], [10_000, `${worker} keyId-1`]);
    await say(beginMs, "dead");
    expect(await say(beginMs - hourMs, "live")).toEqual(["dead keyId-1", "live keyId-1"]);
    expect(await say(beginMs - hourMs + 9_000, "live")).toEqual(["dead keyId-1", "live keyId-1"]);
    expect(await say(beginMs - hourMs + 11_000, "live")).toEqual(["live keyId-1"]);
  });
});
