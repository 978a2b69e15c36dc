/**
 * A process that works on two runs of a fleet in a sandbox, with operations that must not be repeated: SMS, of which
 * the record shows nothing, and terminations, which it shows. To be killed at any moment. It says on stdout when it
 * starts.
 *   node unsafe-process.ts REDIS_URL PREFIX SANDBOX_URL PROFILE CLOCK_OFFSET_MS RUN…
 */
import { getSim } from "#api/operations/described.ts";
import { type Clock, systemClock } from "#core/time.ts";
import { isRunOver } from "#fleet/run.ts";
import { execute } from "#jobs/runs/work/execute.ts";
import { redisConnections } from "#redis/connection.ts";
import { Keys } from "#redis/keys.ts";
import { redisTarget } from "../../support/redis-target.ts";
import { accountOf, syncParts } from "../inventory/sync-harness.ts";
import { keptBounds } from "./run-of.ts";
import { lanes } from "./unsafe-operations.ts";
import { workContext } from "./work-context.ts";

const [redisUrl = "", prefix = "", url = "", profile = "", offsetText = "", ...runIds] = process.argv.slice(2);
// Waits for calls in flight take no real time: each pass finds them long over.
let offsetMs = Number(offsetText);
const clock: Clock = { ...systemClock, wallMs: () => systemClock.wallMs() + offsetMs };
const redis = redisConnections(redisTarget(redisUrl)).connect("killed");
const keys = new Keys(prefix);
const collaborators = { redis, keys, bounds: keptBounds, clock };
const { client } = syncParts({ redis, keys, url, profile, wording: "sims", coverage: "g" });
const readSim = getSim({ method: "GET", path: "/v1/sims/{simId}", statuses: [200], group: "Sim" });
const account = { ...accountOf(client, "sims"), readSim };
const context = workContext(collaborators, { lanes, account: () => account });
const { ledger } = context;
const never = new AbortController().signal;

async function workOff(runId: string): Promise<void> {
  for (;;) {
    const run = await ledger.run(runId);
    if (isRunOver(run.state)) return;
    for (const segment of run.segments.keys()) {
      const result = await execute({ runId, segment }, context, never);
      if (result.kind === "postponed") offsetMs += result.delayMs;
    }
  }
}

console.log("begun");
await Promise.all(runIds.map(workOff));
process.exit(0);
