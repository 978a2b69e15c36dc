/** kill -9 between an event and its message: every event reaches each webhook that wants it, with one record. */
import { expect, it } from "vitest";
import { dayMs, systemClock } from "#core/time.ts";
import { Feed } from "#events/feed.ts";
import { Keys } from "#redis/keys.ts";
import { seededRandom } from "#sandbox/seeded.ts";
import { DeliveryLog } from "#jobs/webhooks/deliveries.ts";
import { forEachSeed, isLong } from "../../support/long.ts";
import { openTestRedis, redisUrl } from "../../support/redis.ts";
import { kill, startScript } from "../../support/script.ts";
import { until } from "../../support/until.ts";
import { keptBounds } from "../ledger/run-of.ts";
import { openReceiver, type Receiver } from "./receiver.ts";

const { redis, keys } = openTestRedis();
const script = new URL("./delivery-process.ts", import.meta.url);
const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const kills = 30;
const events = 60;

/** As after the ten seconds in which locks that nobody renews come to an end. */
async function endLocks(own: Keys): Promise<void> {
  const locks = (await redis.keys(`${own.prefix}:*`)).filter((key) => key.endsWith(":lock"));
  if (locks.length > 0) await redis.unlink(...locks);
}

/** What a killed process left behind. */
interface Left {
  readonly begun: number;
  readonly open: number;
  readonly unread: number;
}

async function survive(seed: number): Promise<Left> {
  const random = seededRandom(seed);
  const own = new Keys(`${keys.prefix}:${seed}`);
  const collaborators = { redis, keys: own, clock: systemClock, bounds: keptBounds };
  const [feed, log] = [new Feed(collaborators), new DeliveryLog(collaborators, 3 * dayMs)];
  await using receiver = await openReceiver(secret);
  const args = [redisUrl(), own.prefix, receiver.url, secret];
  const first = await startScript(script, args);
  // It dies somewhere between the first message and the last, or before any, while events still come.
  const atMessage = Math.floor(random() * events);
  const lineEncoder = (async () => {
    for (let n = 0; n < events; n += 1) {
      await feed.emit({ type: n % 2 === 0 ? "sim.added" : "sim.gone", profile: "default", fields: { sim: `${n}` } });
      if (random() < 0.1) await new Promise((resolve) => setTimeout(resolve, random() * 4));
    }
  })();
  await until("the message has come", () => receiver.received.length >= atMessage);
  await new Promise((resolve) => setTimeout(resolve, random() * 8));
  await kill(first);
  await lineEncoder;
  await endLocks(own);
  const left = {
    begun: (await log.newest("all", { limit: events * 2 })).length,
    open: await log.pendingCount("all"),
    unread: (await feed.after((await redis.hget(own.feedPlaces(), "deliveries")) ?? "0-0", events)).events.length,
  };
  const second = await startScript(script, args);
  try {
    const isOver = async (): Promise<boolean> => {
      const all = await log.newest("all", { limit: events * 2, state: "delivered" });
      const added = await log.newest("added", { limit: events * 2, state: "delivered" });
      return all.length === events && added.length === events / 2;
    };
    await until(`all of seed ${seed} is delivered`, isOver);
  } finally {
    await kill(second);
  }
  await expectAll(feed, log, receiver);
  return left;
}

async function expectAll(feed: Feed, log: DeliveryLog, receiver: Receiver): Promise<void> {
  const { events: reported } = await feed.newest({}, { limit: events * 2 });
  expect(reported).toHaveLength(events); // and nothing about webhooks that failed
  for (const [name, wanted] of [
    ["all", reported],
    ["added", reported.filter(({ type }) => type === "sim.added")],
  ] as const) {
    const records = await log.newest(name, { limit: events * 2 });
    expect(records.map(({ event }) => event)).toEqual(wanted);
    const arrived = new Set(receiver.received.filter(({ path }) => path.endsWith(`/${name}`)).map(({ id }) => id));
    expect([...arrived].toSorted()).toEqual(wanted.map(({ id }) => `msg_${id}`).toSorted());
  }
  expect(receiver.forged).toBe(0);
}

it.runIf(isLong)(
  `every event reaches its webhooks after each of ${kills} kills by seed`,
  async () => {
    const left: Left[] = [];
    await forEachSeed(kills, 10, async (seed) => void left.push(await survive(seed)));
    const count = (holds: (one: Left) => boolean): number => left.filter(holds).length;
    console.log(
      `${count(({ open }) => open > 0)} of ${kills} were killed with messages in flight, ` +
        `${count(({ unread }) => unread > 0)} with events that were not read or whose place was not saved, ` +
        `${count(({ unread, begun }) => unread + begun > events)} between the beginning of deliveries and the saving of the place`,
    );
    expect(count(({ open, unread }) => open + unread > 0)).toBeGreaterThan(kills / 2);
  },
  400_000,
);
