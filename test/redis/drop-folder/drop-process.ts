/**
 * A process that watches a drop folder until it is killed. It says on stdout that it has started.
 *   node drop-process.ts REDIS_URL PREFIX FOLDER PROFILE
 */
import { systemClock } from "#core/time.ts";
import { watchDropFolder } from "#jobs/drop-folder/work.ts";
import { redisConnections } from "#redis/connection.ts";
import { Keys } from "#redis/keys.ts";
import { dropParts } from "./drop-harness.ts";
import { redisTarget } from "../../support/redis-target.ts";

const [redisUrl = "", prefix = "", path = "", profile = ""] = process.argv.slice(2);
const connections = redisConnections(redisTarget(redisUrl));
const connect = (name: string) => connections.connect(name);
const onIncident = (message: string): void => console.error(message);
const { work } = dropParts({ redis: connect("killed"), connect, keys: new Keys(prefix), path, profile, onIncident });
const stop = watchDropFolder(work, { clock: systemClock, onIncident, pollIntervalMs: 10 });
process.once("SIGTERM", () => void stop().then(() => process.exit(0)));
console.log("watching");
