/** A page of many SIMs is stored in slices, so that no call blocks Redis for its other clients for long. */
import { randomBytes } from "node:crypto";
import type { Redis } from "ioredis";
import { describe, expect, it } from "vitest";
import { Feed } from "#events/feed.ts";
import { systemClock } from "#core/time.ts";
import { type ListedSims, SyncLog } from "#jobs/inventory/store/sync-record.ts";
import { openTestRedis } from "../../support/redis.ts";
import { keptBounds } from "../ledger/run-of.ts";

const { redis, keys } = openTestRedis();

function listed(count: number, speedClass: string, from = 0): ListedSims {
  const simIds = Array.from({ length: count }, (_, n) => `89423100000${String(from + n).padStart(8, "0")}`);
  return { keys: simIds, linesOf: () => `speedClass=${speedClass}` };
}

class Fleet {
  readonly profile = `p-${randomBytes(4).toString("hex")}`;
  /** Number of SIMs in each call that stored a part of a page, over all pages. */
  readonly sizes: number[] = [];
  /** Called before each call to Redis that runs a script. */
  beforeCall: (nth: number) => void = () => undefined;
  readonly syncs: SyncLog;
  readonly #redis: Redis;

  constructor() {
    let calls = 0;
    const evalsha = (...args: Parameters<Redis["evalsha"]>): unknown => {
      this.beforeCall(calls++);
      const page = args.find((arg) => typeof arg === "string" && arg.startsWith("89423100000"));
      if (typeof page === "string") this.sizes.push(page.split("\r").length - 1);
      return redis.evalsha(...args);
    };
    this.#redis = new Proxy(redis, {
      get: (target, name) => {
        if (name === "evalsha") return evalsha;
        const value: unknown = Reflect.get(target, name);
        return typeof value === "function" ? (value.bind(target) as unknown) : value;
      },
    });
    this.syncs = this.otherProcess(this.#redis);
  }

  otherProcess(connection: Redis = redis): SyncLog {
    return new SyncLog({ redis: connection, keys, bounds: keptBounds });
  }

  async take(syncs: SyncLog, sims: ListedSims, pagesBefore = 0, nextKey?: string): Promise<number | undefined> {
    const { syncId } = await this.begun();
    const asOfMs = await syncs.nowMs();
    return syncs.takePage(this.profile, { syncId, pagesBefore, sims, nextKey, asOfMs, quiet: [] });
  }

  async begun(): Promise<{ syncId: string }> {
    return this.syncs.begin(this.profile, `s-${randomBytes(4).toString("hex")}`, "resume");
  }

  async events(type: "sim.added" | "sim.changed" | "sim.gone"): Promise<number> {
    const feed = new Feed({ redis, keys, bounds: keptBounds, clock: systemClock });
    return (await feed.newest({ profile: this.profile, types: [type] }, { limit: 100_000 })).events.length;
  }

  /** Reads the fleet whole. */
  async sync(sims: ListedSims): Promise<void> {
    await this.take(this.syncs, sims);
    const state = await this.syncs.state(this.profile);
    if (state === undefined) throw new Error("no sync was begun");
    await this.syncs.sweep(this.profile, state, ["speedClass"]);
  }
}

describe("pages of many SIMs", () => {
  it("a page of many SIMs is stored in calls of at most 1,000 and counted once", async () => {
    const fleet = new Fleet();
    await fleet.take(fleet.syncs, listed(2_500, "s1.fast"), 0, "next");
    expect(Math.max(...fleet.sizes)).toBe(1_000);
    expect(await fleet.syncs.state(fleet.profile)).toMatchObject({
      pages: 1,
      sims: 2_500,
      added: 2_500,
      cursor: "next",
    });
    await fleet.take(fleet.syncs, listed(10, "s1.fast", 2_500), 1);
    expect(await fleet.syncs.state(fleet.profile)).toMatchObject({ pages: 2, sims: 2_510, phase: "sweeping" });
  });

  /** A fleet of which a page of 2,500 changes was cut off between two slices, and the changes reported since. */
  async function setupCut() {
    const fleet = new Fleet();
    await fleet.sync(listed(2_500, "s1.slow"));
    const before = await fleet.events("sim.changed");
    fleet.sizes.length = 0;
    fleet.beforeCall = () => {
      if (fleet.sizes.includes(1_000)) throw new Error("killed");
    };
    await expect(fleet.take(fleet.syncs, listed(2_500, "s1.fast"), 0, "next")).rejects.toThrow("killed");
    fleet.beforeCall = () => undefined;
    return { fleet, reported: async () => (await fleet.events("sim.changed")) - before };
  }

  it("a page interrupted between two slices is not counted, and some of its changes are reported", async () => {
    const { fleet, reported } = await setupCut();
    const cut = await fleet.syncs.state(fleet.profile);
    expect(cut).toMatchObject({ pages: 0, sims: 0, phase: "listing" });
    expect(cut?.cursor).toBeUndefined();
    expect(await reported()).toBeGreaterThan(0);
    expect(await reported()).toBeLessThan(2_500);
  });

  it("an interrupted page is stored again completely without duplicate events or counts", async () => {
    const { fleet, reported } = await setupCut();
    await fleet.take(fleet.otherProcess(), listed(2_500, "s1.fast"), 0, "next");
    expect(await reported()).toBe(2_500);
    expect(await fleet.syncs.state(fleet.profile)).toMatchObject({ pages: 1, sims: 2_500, changed: 2_500, added: 0 });
  });

  it("a page that another process has begun to store is left to that process", async () => {
    const fleet = new Fleet();
    await fleet.begun();
    let other: Promise<number | undefined> | undefined;
    fleet.beforeCall = () => {
      if (fleet.sizes.length === 2) {
        fleet.beforeCall = () => undefined;
        other = fleet.take(fleet.otherProcess(), listed(2_500, "s1.fast"), 0, "next");
      }
    };
    const one = await fleet.take(fleet.syncs, listed(2_500, "s1.slow"), 0, "next");
    expect([one, await other].filter((taken) => taken !== undefined)).toHaveLength(1);
    expect(await fleet.syncs.state(fleet.profile)).toMatchObject({ pages: 1, sims: 2_500 });
  });
});

it("a sweep marks at most 1,000 SIMs as gone per call and eventually all that were not listed", async () => {
  const fleet = new Fleet();
  await fleet.sync(listed(5_000, "s1.fast"));
  await fleet.take(fleet.syncs, listed(500, "s1.fast"));
  const gone: number[] = [];
  fleet.beforeCall = () => void gone.push(0);
  const state = await fleet.syncs.state(fleet.profile);
  if (state === undefined) throw new Error("no sync was begun");
  expect(await fleet.syncs.sweep(fleet.profile, state, ["speedClass"])).toBe(true);
  // 3,596 of the first chunk and 904 of the second.
  expect(gone).toHaveLength(5);
  expect(await fleet.syncs.state(fleet.profile)).toMatchObject({ phase: "finished", gone: 4_500 });
  expect(await fleet.events("sim.gone")).toBe(4_500);
});
