/**
 * A process that emits events about changed SIMs at a steady rate until it is stopped, and then prints how many it
 * emitted.
 *   node bench/emit-events.ts DATA_DIR PER_MINUTE SIM_ID …
 */
import { homedir } from "node:os";
import { join } from "node:path";
import { systemClock } from "#core/time.ts";
import { Feed } from "#events/feed.ts";
import { RedisConnections } from "#redis/connection.ts";
import { EmbeddedRedis } from "#redis/embedded/embedded.ts";
import { Keys } from "#redis/keys.ts";

const [dataDir = "", perMinute = "", ...sims] = process.argv.slice(2);
const cacheDir = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "simfleet");
const embedded = await EmbeddedRedis.attach({ dataDir, cacheDir, path: process.env.PATH ?? "" });
const connections = new RedisConnections({ embedded });
const bounds = { keepMs: 86_400_000, most: 1_000_000 };
const feed = new Feed({ redis: connections.connect("emitter"), keys: new Keys(), clock: systemClock, bounds });
const perMs = Number(perMinute) / 60_000;
/** One in this many events is of the kind that an automation acts on. */
const rareEvery = 500;

const stop = new AbortController();
process.once("SIGTERM", () => stop.abort());
const startMs = systemClock.monotonicMs();
let reported = 0;
while (!stop.signal.aborted) {
  const due = Math.floor((systemClock.monotonicMs() - startMs) * perMs);
  const pending: Promise<void>[] = [];
  for (; reported < due; reported += 1) {
    const sim = sims[reported % sims.length] ?? "";
    const field = reported % rareEvery === 0 ? "tags.rare" : "tags.bench";
    const fields = { sim, field, before: `=${reported}`, after: `=${reported + 1}`, by: "outside", cause: "bench" };
    pending.push(feed.emit({ type: "sim.changed", profile: "default", fields }));
  }
  await Promise.all(pending);
  await systemClock.sleep(50, stop.signal).catch(() => undefined);
}
console.log(reported);
await connections.close();
await embedded.close();
