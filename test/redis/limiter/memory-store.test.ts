/** The store in memory decides as Redis does: the same exchanges, with the same clock, have the same replies. */
import { beforeAll, expect, it } from "vitest";
import { bucketScriptParts } from "#limiter/limiter.ts";
import { openMemoryStore } from "#limiter/memory/memory-store.ts";
import type { LimiterStore } from "#limiter/store.ts";
import { readLua } from "#redis/script.ts";
import { seeds } from "../../support/long.ts";
import { openTestRedis } from "../../support/redis.ts";
import { World, beginMs } from "./world.ts";

const { redis, keys } = openTestRedis();
const lua = (name: string): string => readLua(new URL(`../../../src/limiter/${name}.lua`, import.meta.url));
const scripts = {
  bucket: { source: bucketScriptParts.map(readLua).join("\n"), keys: ["bucket", "permits", "buckets", "waiters"] },
  "fixed-limit": { source: lua("fixed-limit"), keys: ["fixed", "fixed-permits"] },
  pace: { source: lua("pace"), keys: ["pace"] },
};
type Name = keyof typeof scripts;

let nowMs = beginMs;
let memory: LimiterStore;
beforeAll(async () => {
  memory = await openMemoryStore(() => nowMs);
});

/** On Redis, where the one thing that is changed in the script is where it reads the time. */
function onRedis(name: Name, prefix: string, args: readonly (string | number)[]): Promise<unknown> {
  const { source, keys: own } = scripts[name];
  const seconds = Math.floor(nowMs / 1_000);
  const time = [seconds, Math.floor((nowMs - seconds * 1_000) * 1_000)];
  // The time comes after the arguments that the script reads.
  const head = "local TIME = { table.remove(ARGV, #ARGV - 1), table.remove(ARGV) }\n";
  const steered = `${head}${source.replace("redis.call('TIME')", "TIME")}`;
  return redis.eval(steered, own.length, ...own.map((key) => `${prefix}:${key}`), ...args, ...time);
}

function inMemory(name: Name, prefix: string, args: readonly (string | number)[]): Promise<unknown> {
  const { source, keys: own } = scripts[name];
  return memory.eval(source, own.length, ...own.map((key) => `${prefix}:${key}`), ...args);
}

interface Permit {
  readonly process: string;
  readonly number: number;
  readonly window: number;
  readonly serial: number;
  readonly nowMs: number;
}

/** A reply's numbers; Redis cuts them to whole numbers where they are no texts. */
const numbersOf = (reply: unknown): number[] =>
  (reply as (string | number | null)[]).map((value) => (value === "" ? -1 : Number(value)));

/** What the buckets keep, but for the waiters: Redis expires keys by a clock of its own. */
async function stored(store: LimiterStore, prefix: string): Promise<Record<string, string>> {
  const all = await Promise.all(
    ["bucket", "permits", "fixed", "fixed-permits"].map((key) => store.hgetall(`${prefix}:${key}`)),
  );
  const entries = all.flatMap((hash, at) => Object.entries(hash).map(([field, value]) => [`${at} ${field}`, value]));
  return Object.fromEntries(entries);
}

/** Random exchanges of three processes with buckets of their own. */
class Traffic {
  granted = 0;
  readonly #world: World;
  readonly #flying = new Map<Name, Permit[]>();
  readonly #share: number;
  readonly #limit: number;
  #number = 1;

  constructor(seed: number) {
    this.#world = new World(seed, false);
    this.#share = this.#pick(3) === 0 ? 0.2 : 0;
    this.#limit = 3 + this.#pick(17);
  }

  next(): { name: Name; args: (string | number)[]; times: number; take: (reply: readonly number[]) => void } {
    const world = this.#world;
    nowMs += Math.floor(world.between(0, this.#pick(50) === 0 ? 90_000 : 700) * 8) / 8;
    if (this.#pick(200) === 0) nowMs -= 5_000;
    // As after a broken connection.
    const times = this.#pick(30) === 0 ? 2 : 1;
    if (this.#pick(10) === 0) {
      const args = [300 + this.#pick(3) * 200, 1 + this.#pick(2)];
      return { name: "pace", args, times, take: ([granted = 0]) => void (this.granted += granted) };
    }
    const name: Name = this.#pick(3) === 0 ? "fixed-limit" : "bucket";
    const process = `p${this.#pick(3)}`;
    const [want, number] = [this.#pick(4), this.#number];
    this.#number += want;
    const seen = this.#observations(name, process);
    const urgency = this.#pick(8) === 0 ? "priority" : "normal";
    const args = ["b", 10_000, this.#share, 8_000, process, want, number, urgency, this.#pick(40) - 1, ...seen];
    const take = ([at = 0, window = 0, serial = 0, granted = 0]: readonly number[]): void => {
      this.granted += granted;
      for (let i = 0; i < granted; i += 1) {
        this.#of(name).push({ process, number: number + i, window, serial: serial + i, nowMs: at });
      }
    };
    return { name, args: name === "bucket" ? args : [this.#limit, ...args], times, take };
  }

  #observations(name: Name, process: string): string[] {
    const world = this.#world;
    const ended = this.#of(name).filter((permit) => permit.process === process && world.random() < 0.5);
    this.#flying.set(
      name,
      this.#of(name).filter((permit) => !ended.includes(permit)),
    );
    return ended.map((permit) => {
      const kind = ["answered", "answered", "answered", "throttled", "lost", "back"][this.#pick(6)] ?? "";
      const isBare = kind === "lost" || this.#pick(10) === 0;
      const reading = isBare ? ",," : `${this.#limit},${this.#pick(this.#limit)},${this.#pick(10)}`;
      const times = `${permit.nowMs.toFixed(3)},${world.between(0, 9).toFixed(3)},${world.between(0, 5).toFixed(3)}`;
      return `${permit.number},${kind},${permit.window},${permit.serial},${times},${reading},${this.#pick(3) * 1_000}`;
    });
  }

  #of(name: Name): Permit[] {
    const permits = this.#flying.get(name) ?? [];
    this.#flying.set(name, permits);
    return permits;
  }

  #pick(from: number): number {
    return Math.floor(this.#world.random() * from);
  }
}

async function compare(seed: number, exchanges: number): Promise<number> {
  const prefix = `${keys.prefix}:${seed}`;
  const traffic = new Traffic(seed);
  for (let i = 0; i < exchanges; i += 1) {
    const { name, args, times, take } = traffic.next();
    for (let time = 1; time <= times; time += 1) {
      const [there, here] = [await onRedis(name, prefix, args), await inMemory(name, prefix, args)];
      expect([seed, i, name, args, numbersOf(here)]).toEqual([seed, i, name, args, numbersOf(there)]);
      if (time === times) take(numbersOf(here));
    }
  }
  expect(await stored(memory, prefix)).toEqual(await stored(redis, prefix));
  return traffic.granted;
}

it("the store in memory gives the replies of Redis, and stores the same, for any exchanges", async () => {
  let granted = 0;
  for (let seed = 1; seed <= seeds(10, 100); seed += 1) granted += await compare(seed, 120);
  expect(granted).toBeGreaterThan(seeds(10, 100) * 40);
});

it("the store in memory forgets a key after its time", async () => {
  await memory.hset("short", { field: "value" });
  expect(await memory.pexpire("short", 500)).toBe(1);
  nowMs += 499;
  expect(await memory.hgetall("short")).toEqual({ field: "value" });
  nowMs += 1;
  expect(await memory.hgetall("short")).toEqual({});
  expect(await memory.pexpire("short", 500)).toBe(0);
});

it("the store in memory refuses what it does not know, as Redis does", async () => {
  await expect(memory.eval("return redis.call('ZADD', KEYS[1], 1, 'a')", 1, "k")).rejects.toThrow(/no command ZADD/);
  await expect(memory.evalsha("00", 0)).rejects.toThrow(/^NOSCRIPT/);
  await expect(memory.hgetall("a\u0001b")).rejects.toThrow(/U\+0001/);
});
