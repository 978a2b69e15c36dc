/** Reading the event stream: from a position on, live, and as a durable reader. */
import type { Redis } from "ioredis";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { systemClock } from "#core/time.ts";
import type { Incident } from "#engine/queue/job-result.ts";
import { openWorkerRegistry } from "#engine/queue/worker-registry.ts";
import { consumeFeed } from "#engine/feed-readers.ts";
import type { Event } from "#events/event.ts";
import { beforeAll as beforeAllEvents, Feed } from "#events/feed.ts";
import { feedTail } from "#events/tail.ts";
import { isLong } from "../../support/long.ts";
import { keysWithin, openTestRedis } from "../../support/redis.ts";
import { until } from "../../support/until.ts";
import { keptBounds } from "../ledger/run-of.ts";

const { redis, keys, connect, lifecycle } = openTestRedis();

function setup() {
  const own = keysWithin(keys);
  const feed = new Feed({ redis, keys: own, clock: systemClock, bounds: keptBounds });
  const emit = async (...numbers: number[]): Promise<void> => {
    for (const n of numbers) {
      await feed.emit({ type: "sync.failed", profile: "default", fields: { cause: String(n), reason: "why" } });
    }
  };
  return { feed, own, emit };
}

const numbersOf = (events: readonly Event[]): number[] => events.map(({ fields }) => Number(fields.cause));
const upTo = (count: number, from = 1): number[] => Array.from({ length: count }, (_, i) => from + i);

describe("the feed", () => {
  it("the feed is read from a given position, oldest event first", async () => {
    const { feed, emit } = setup();
    expect(await feed.head()).toBe(beforeAllEvents);
    await emit(1, 2, 3);
    const first = await feed.after(beforeAllEvents, 2);
    expect(numbersOf(first.events)).toEqual([1, 2]);
    const second = await feed.after(first.lastId, 2);
    expect(numbersOf(second.events)).toEqual([3]);
    expect(second.lastId).toBe(await feed.head());
    expect(await feed.after(second.lastId, 2)).toEqual({ events: [], lastId: second.lastId });
  });

  it("the feed returns events that only a later version knows", async () => {
    const { feed, emit } = setup();
    await emit(1);
    await redis.xadd(feed.key, "*", "type", "moon.landed", "profile", "default");
    const page = await feed.after(beforeAllEvents, 10);
    expect(page.events.map(({ type }) => type)).toEqual(["sync.failed", "moon.landed"]);
    expect(page.lastId).toBe(await feed.head());
  });
});

/** Followers of a feed, which are stopped at the end of the case. */
function followed({ feed, emit }: ReturnType<typeof setup>) {
  const tail = feedTail({ feed, connect, clock: systemClock });
  const stop = new AbortController();
  const following: Promise<void>[] = [];
  onTestFinished(async () => {
    stop.abort();
    await Promise.all(following);
    tail.close();
  });
  /** Follows from a position on. @returns the numbers that have come, which grow */
  const follow = (from?: string, handled: () => Promise<void> | void = () => undefined): number[] => {
    const numbers: number[] = [];
    const read = async (): Promise<void> => {
      for await (const events of tail.follow(from, stop.signal)) {
        numbers.push(...numbersOf(events));
        await handled();
      }
    };
    following.push(read());
    return numbers;
  };
  return { emit, follow };
}

describe("followers of the feed", () => {
  it("a follower of the feed receives each event once and in order, from a past position to new events", async () => {
    const { emit, follow } = followed(setup());
    await emit(...upTo(30));
    const seen = [1, 2, 3].map(() => follow(beforeAllEvents));
    await emit(...upTo(30, 31));
    await until("the first have seen the sixtieth", () => seen.every((numbers) => numbers.includes(60)));
    const late = follow();
    // It starts with what comes from now on, which it knows only once it has asked.
    let last = 60;
    while (late.length === 0) await emit((last += 1));
    await until("all have seen the last", () => seen.every((numbers) => numbers.at(-1) === last));
    for (const numbers of seen) expect(numbers).toEqual(upTo(last));
    expect(late).toEqual(upTo(late.length, late[0]));
    expect(late[0]).toBeGreaterThan(60);
  });

  it("a slow follower of the feed loses nothing and does not delay others", async () => {
    const { emit, follow } = followed(setup());
    const held = Promise.withResolvers<void>();
    onTestFinished(() => held.resolve());
    const quick = follow(beforeAllEvents);
    const slow = follow(beforeAllEvents, () => held.promise);
    await emit(1);
    await until("both have begun", () => slow.length === 1 && quick.length === 1);
    for (const n of upTo(60, 2)) await emit(n);
    await until("the quick one has all", () => quick.at(-1) === 61);
    expect(slow.length).toBeLessThan(61);
    held.resolve();
    await until("the slow one has all", () => slow.at(-1) === 61);
    expect(slow).toEqual(upTo(61));
  });
});

async function loseConnection(reader: Redis | undefined): Promise<void> {
  if (reader === undefined) throw new Error("no reader");
  reader.options.retryStrategy = () => 60_000;
  reader.stream.destroy();
  await until("its reader is without a connection", () => reader.status === "reconnecting");
}

describe("durable readers of the feed", () => {
  const start = async (
    { feed, own }: ReturnType<typeof setup>,
    handle: (events: readonly Event[]) => void = () => undefined,
    more: { onIncident?: (incident: Incident) => void; connect?: (name: string) => Redis } = {},
  ) => {
    const handled = (events: readonly Event[]) => Promise.resolve().then(() => handle(events));
    const workerRegistry = openWorkerRegistry({ redis, keys: own });
    const shared = { feed, redis, keys: own, clock: systemClock, connect, workerRegistry, lifecycle };
    const readers = [{ name: "test", handle: handled }];
    const [consumer] = await consumeFeed("test", readers, { ...shared, onIncident: () => undefined, ...more });
    if (consumer === undefined) throw new Error("nothing reads");
    onTestFinished(() => consumer.stop());
    return consumer;
  };

  /** A reader that notes the numbers it sees, after its own name. */
  const startReading = (harness: ReturnType<typeof setup>, seen: string[], name = "") =>
    start(harness, (events) => void seen.push(...numbersOf(events).map((n) => `${name}${n}`)));

  it("a reader of the feed starts with new events and continues where the last one stopped", async () => {
    const harness = setup();
    await harness.emit(1, 2);
    const seen: string[] = [];
    const first = await startReading(harness, seen);
    await harness.emit(3, 4);
    await until("it has seen them", () => seen.length === 2);
    await first.stop();
    await harness.emit(5);
    await startReading(harness, seen);
    await until("the next one has seen what came meanwhile", () => seen.length === 3);
    expect(seen).toEqual(["3", "4", "5"]);
  });

  it("a reader of the feed continues where it is when its position was lost", async () => {
    const harness = setup();
    const seen: string[] = [];
    await startReading(harness, seen);
    await harness.emit(1);
    await until("it reads", () => seen.length === 1);
    await redis.del(harness.own.feedPlaces());
    for (const n of [2, 3, 4]) await harness.emit(n);
    await until("it has seen them", () => seen.includes("4"));
    expect(seen).toEqual(["1", "2", "3", "4"]);
  });

  it.runIf(isLong)("a reader of the feed whose connections are replaced leaves its place to the next", async () => {
    const harness = setup();
    const seen: string[] = [];
    const consumer = await startReading(harness, seen);
    await harness.emit(1);
    await until("it reads", () => seen.length === 1);
    await consumer.restart();
    await systemClock.sleep(20_000, new AbortController().signal);
    await harness.emit(2, 3);
    await until("they are seen", () => seen.includes("3"));
    expect(seen).toEqual(["1", "2", "3"]);
  });

  it("a reader of the feed runs in one process at a time", async () => {
    const harness = setup();
    const seen: string[] = [];
    const a = await startReading(harness, seen, "a");
    await harness.emit(1);
    await until("the first reads", () => seen.length === 1);
    await startReading(harness, seen, "b");
    await harness.emit(2, 3);
    await until("they are seen", () => seen.length === 3);
    await a.stop();
    await harness.emit(4);
    await until("the other has taken over", () => seen.length === 4);
    expect(seen).toEqual(["a1", "a2", "a3", "b4"]);
  });

  it("a reader of the feed stops at once and hands over while its reader has no connection", async () => {
    const harness = setup();
    let reader: Redis | undefined;
    const connectAs = (name: string) => (name === "feed-test" ? (reader = connect()) : connect());
    const consumer = await start(harness, undefined, { connect: connectAs });
    await until("it reads", () => reader?.status === "ready");
    await loseConnection(reader);
    const late = systemClock.sleep(3_000, new AbortController().signal).then(() => "hangs");
    expect(await Promise.race([consumer.stop().then(() => "stopped"), late])).toBe("stopped");
    const seen: string[] = [];
    await startReading(harness, seen);
    await harness.emit(1);
    await until("the next one reads", () => seen.length === 1);
  });

  it("a reader of the feed receives events again after a failure and reports the error", async () => {
    const harness = setup();
    const incidents: string[] = [];
    const seen: number[] = [];
    const handle = vi.fn((events: readonly Event[]) => void seen.push(...numbersOf(events)));
    handle.mockImplementationOnce(() => {
      throw new Error("the store is full");
    });
    await start(harness, handle, { onIncident: ({ message }) => incidents.push(message) });
    await harness.emit(1);
    await until("it came again", () => seen.length === 1);
    expect(incidents[0]).toContain("the store is full");
  });
});
