/**
 * A process that turns events into deliveries and delivers them, as a worker does, to be killed by its parent at any
 * moment.
 *   node delivery-process.ts REDIS_URL PREFIX ADDRESS SECRET
 */
import { Secret } from "#core/secrets/secret.ts";
import { redisConnections } from "#redis/connection.ts";
import { Keys } from "#redis/keys.ts";
import { openWebhooks } from "#jobs/webhooks/open.ts";
import { endpointsOf, webhookKernel, webhookOf } from "./delivery-harness.ts";
import { redisTarget } from "../../support/redis-target.ts";

const [redisUrl = "", prefix = "", url = "", secret = ""] = process.argv.slice(2);
const connections = redisConnections(redisTarget(redisUrl));
const kernel = webhookKernel({
  redis: connections.connect("killed"),
  keys: new Keys(prefix),
  connect: (name) => connections.connect(name),
});
const names = [webhookOf("all"), webhookOf("added", { events: ["sim.added"] })];
const webhooks = openWebhooks(
  kernel,
  endpointsOf(names, (name) => `${url}/${name}`, [new Secret(secret)]),
);
await webhooks.consume(({ message }) => console.error(message));
console.log("ready");
