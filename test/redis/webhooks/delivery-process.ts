/**
 * A process that turns events into deliveries and delivers them, as a worker does, to be killed by its parent at any
 * moment.
 *   node delivery-process.ts REDIS_URL PREFIX ADDRESS SECRET
 */
import { Lifecycle } from "#core/process/lifecycle.ts";
import { Secret } from "#core/secrets/secret.ts";
import { systemClock } from "#core/time.ts";
import type { Kernel } from "#kernel/kernel.ts";
import { Feed } from "#events/feed.ts";
import { openWorkerRegistry } from "#engine/queue/worker-registry.ts";
import { redisConnections } from "#redis/connection.ts";
import { Keys } from "#redis/keys.ts";
import type { Redis } from "ioredis";
import { openWebhooks } from "#jobs/webhooks/open.ts";
import { keptBounds } from "../ledger/run-of.ts";
import { noGuard } from "../../support/no-guard.ts";
import { webhookOf } from "./delivery-harness.ts";
import { redisTarget } from "../../support/redis-target.ts";

const [redisUrl = "", prefix = "", url = "", secret = ""] = process.argv.slice(2);
const connections = redisConnections(redisTarget(redisUrl));
const redis = connections.connect("killed");
const keys = new Keys(prefix);
const clock = systemClock;
const names = [webhookOf("all"), webhookOf("added", { events: ["sim.added"] })];
const config = { events: keptBounds, retention: { deliveryDays: 3 }, profile: "default" };
const endpoints = Object.fromEntries(
  names.map((webhook) => [
    webhook.name,
    { webhook, url: () => `${url}/${webhook.name}`, secrets: () => [new Secret(secret)], faults: () => [] },
  ]),
);
const connect = (name: string): Redis => connections.connect(name);
const kernel = {
  config,
  clock,
  redis,
  lifecycle: new Lifecycle(),
  userAgent: "simfleet/test",
  guard: noGuard,
  feed: new Feed({ redis, keys, clock, bounds: keptBounds }),
  keys,
  bounds: keptBounds,
  connect,
  workerRegistry: openWorkerRegistry({ redis, keys }),
} as unknown as Kernel;
const webhooks = openWebhooks(kernel, endpoints);
await webhooks.consume(({ message }) => console.error(message));
console.log("ready");
