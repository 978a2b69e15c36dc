/**
 * A process that watches a drop folder until it is killed, also while another one does. It says on stdout that it has
 * started.
 *   node drop-process.ts REDIS_URL PREFIX FOLDER PROFILE
 */
import { systemClock } from "#core/time.ts";
import { redisConnections } from "#redis/connection.ts";
import { Keys } from "#redis/keys.ts";
import { dropParts } from "./drop-harness.ts";
import { redisTarget } from "../../support/redis-target.ts";

const [redisUrl = "", prefix = "", path = "", profile = ""] = process.argv.slice(2);
const connections = redisConnections(redisTarget(redisUrl));
const connect = (name: string) => connections.connect(name);
const onIncident = (message: string): void => console.error(message);
const { work } = dropParts({ redis: connect("killed"), connect, keys: new Keys(prefix), path, profile, onIncident });
const stopping = new AbortController();
process.once("SIGTERM", () => stopping.abort());
console.log("watching");
while (!stopping.signal.aborted) {
  await work.round(stopping.signal);
  await systemClock.sleep(10, stopping.signal).catch(() => undefined);
}
process.exit(0);
