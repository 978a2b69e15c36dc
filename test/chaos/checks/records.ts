/**
 * Checks of what is not a run: the rotation has one secret in its sink and at the platform, the schedules acted on
 * their times, the file of the drop folder became one run, the automation acted once on each event, and every event has
 * reached the receiver of the webhook.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Keys } from "#redis/keys.ts";
import { askJson } from "../control.ts";
import { droppedSims, dropFolderOf, onceSims, secrets, type Stage } from "../stage/stage.ts";
import { nowMs, sleep } from "../time.ts";

const keys = new Keys();
/** When nothing breaks anymore, the run of the schedule is complete this long after its time. */
const onceLateMs = 20_000;

/** @returns what is wrong, in words */
export async function checkRecords(
  stage: Stage,
  { wasReadyInTime, latestClockMs }: { readonly wasReadyInTime: boolean; readonly latestClockMs: number },
): Promise<string[]> {
  const parts = await Promise.all([
    checkRotation(stage),
    checkDeliveries(stage),
    checkReport(stage, latestClockMs),
    wasReadyInTime ? checkOnce(stage) : [],
    checkDropped(stage),
    checkAutomation(stage),
  ]);
  return parts.flat();
}

async function checkRotation({ stations, sandbox, disk }: Stage): Promise<string[]> {
  const rotation = await askJson<{ state: string; credentialsId: string | null; reason: string | null }>(stations, {
    path: "/rotations/mqtt",
  });
  const { credentials, groups } = sandbox.state;
  const sets = new Map(credentials.all.map(({ credentialsId: id }) => [id, String(credentials.secretOf(id)?.key)]));
  const about = `the rotation is ${rotation.state} (${rotation.reason}), sets ${[...sets.keys()].join(" ")}`;
  const active = rotation.credentialsId ?? "";
  const used = JSON.stringify(groups.all.map(({ configuration }) => configuration));
  const faults: string[] = [];
  if (sets.size !== 1 || !sets.has(active)) faults.push(`${about}: not one set, ${active}`);
  if (!used.includes(`"${active}"`)) faults.push(`${about}: no group refers to ${active}`);
  if (rotation.state === "done") {
    const sink = readFileSync(join(disk.folder, "out/mqtt"), "utf8");
    if (sink !== sets.get(active)) faults.push(`${about}: the sink has another secret than the platform`);
    if (sink === secrets.firstSecret) faults.push(`${about}: the secret is the old one`);
  } else if (sets.get(active) !== secrets.firstSecret) {
    faults.push(`${about}: rolled back, but the platform has another secret than before`);
  }
  return faults;
}

interface Delivery {
  readonly deliveryId: string;
  readonly eventId: string;
  readonly state: string;
}

async function checkDeliveries({ stations, redis, receiver }: Stage): Promise<string[]> {
  const deliveries: Delivery[] = [];
  let cursor = "";
  do {
    const page = await askJson<{ deliveries: Delivery[]; nextCursor: string | null }>(stations, {
      path: `/deliveries?webhook=ops&limit=1000${cursor}`,
    });
    deliveries.push(...page.deliveries);
    cursor = page.nextCursor === null ? "" : `&cursor=${encodeURIComponent(page.nextCursor)}`;
  } while (cursor !== "");
  const faults: string[] = [];
  const received = new Set(receiver.received.map(({ id }) => id));
  const byEvent = new Map(deliveries.map((delivery) => [delivery.eventId, delivery]));
  for (const { deliveryId, eventId, state } of deliveries) {
    if (state !== "delivered") faults.push(`the delivery ${deliveryId} is ${state}`);
    else if (!received.has(`msg_${eventId}`))
      faults.push(`${deliveryId} is delivered, but the receiver has no message`);
  }
  for (const [id, fields] of await redis.direct.xrange(keys.events(), "-", "+")) {
    const type = fields[fields.indexOf("type") + 1] ?? "";
    if (/^(run|sync|credential)\./.test(type) && !byEvent.has(id))
      faults.push(`the event ${id} ${type} has no delivery`);
  }
  if (receiver.forged > 0) faults.push(`${receiver.forged} messages without a valid signature`);
  return faults;
}

interface Schedule {
  readonly last: { readonly result: string; readonly reason: string | null; readonly dueAt: string } | null;
}

/**
 * The report comes every three seconds; after the faults it has to come again.
 * @param latestClockMs the latest time that any clock has shown: its times up to then count as dealt with
 */
async function checkReport({ stations, disk }: Stage, latestClockMs: number): Promise<string[]> {
  if (latestClockMs > Date.now() + 10_000) return [];
  const endMs = nowMs() + 20_000;
  const fromMs = Date.now() - 1_000;
  for (;;) {
    const { last } = await askJson<Schedule>(stations, { path: "/schedules/report" });
    if (last?.result === "done" && Date.parse(last.dueAt) >= fromMs) break;
    if (nowMs() > endMs) return [`the schedule of reports does not continue: ${JSON.stringify(last)}`];
    await sleep(250);
  }
  const text = readFileSync(join(disk.folder, "out/report.json"), "utf8");
  try {
    JSON.parse(text);
    return [];
  } catch {
    return [`the report is not whole: ${text.slice(0, 200)}`];
  }
}

/** It was due at one time only: there is one run of it, and it is complete. */
async function checkOnce({ stations, sandbox, onceDueMs }: Stage): Promise<string[]> {
  for (;;) {
    const { runs } = await askJson<{ runs: { runId: string; state: string; submittedBy?: string; counts: unknown }[] }>(
      stations,
      { path: "/runs?limit=100" },
    );
    const own = runs.filter(({ submittedBy }) => submittedBy === "schedule:once");
    const [only] = own;
    if (own.length === 1 && only?.state === "completed") break;
    // A round can be over before the time has come.
    const isLate = Date.now() > onceDueMs + onceLateMs;
    if (own.length > 1 || isLate) return [`the schedule began ${JSON.stringify(own)}`];
    await sleep(250);
  }
  const faults: string[] = [];
  for (let place = onceSims[0]; place < onceSims[1]; place += 1) {
    const effects = sandbox.state.effectsOn(sandbox.state.sims.simIdAt(place)).putSimTags ?? 0;
    if (effects === 0) faults.push(`the scheduled run did not reach the SIM at ${place}`);
  }
  return faults;
}

/** The file became one run, and lies in `done` with its results. */
async function checkDropped({ stations, disk, sandbox }: Stage): Promise<string[]> {
  const { runs } = await askJson<{ runs: { runId: string; state: string; submittedBy?: string }[] }>(stations, {
    path: "/runs?limit=100",
  });
  const own = runs.filter(({ submittedBy }) => submittedBy === "drop-folder");
  const [only] = own;
  if (own.length !== 1 || only?.state !== "completed") return [`the drop folder began ${JSON.stringify(own)}`];
  const found = readdirSync(join(dropFolderOf(disk), "done")).toSorted();
  const expected = [`fleet.${only.runId}.csv`, `fleet.${only.runId}.results.csv`];
  const faults = found.join() === expected.join() ? [] : [`done has ${found.join(" ")}`];
  for (let place = droppedSims[0]; place < droppedSims[1]; place += 1) {
    const effects = sandbox.state.effectsOn(sandbox.state.sims.simIdAt(place)).putSimTags ?? 0;
    if (effects === 0) faults.push(`the run of the file did not reach the SIM at ${place}`);
  }
  return faults;
}

/** It acts on each completed run once, whatever happens to its report. */
async function checkAutomation({ stations, redis }: Stage): Promise<string[]> {
  const { automations } = await askJson<{ automations: { state: string; done: number; failed: number }[] }>(stations, {
    path: "/automations",
  });
  const [{ state, done, failed } = { state: "unknown", done: 0, failed: 0 }] = automations;
  const events = await redis.direct.xrange(keys.events(), "-", "+");
  const completed = events.filter(([, fields]) => fields[fields.indexOf("type") + 1] === "run.completed").length;
  const isRight = state === "active" && done + failed === completed;
  return isRight ? [] : [`the automation is ${state} and acted on ${done} + ${failed} of ${completed} completed runs`];
}
