/** Work that kills its worker is set aside after three deaths. Each test kills real processes. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect, inject, it, onTestFinished } from "vitest";
import { systemClock } from "#core/time.ts";
import { beforeAll, Feed } from "#events/feed.ts";
import { automationLog } from "#jobs/automations/record.ts";
import { scheduleLog } from "#jobs/schedules/record.ts";
import { DeliveryLog } from "#jobs/webhooks/delivery-log.ts";
import { Keys } from "#redis/keys.ts";
import { openTestRedis } from "../../support/redis.ts";
import { keptBounds } from "../ledger/run-of.ts";

const { redis, keys } = openTestRedis();
const script = fileURLToPath(new URL("./poison-process.ts", import.meta.url));
const reason = "stopped: its worker crashed three times while processing this";

interface Life {
  /** Undefined: it ended by itself. */
  readonly killedBy: NodeJS.Signals | undefined;
  readonly output: string;
}

function placeOf(feature: string) {
  const own = new Keys(`${keys.prefix}:${feature}`);
  const storeDeps = { redis, keys: own, clock: systemClock, bounds: keptBounds };
  const feed = new Feed(storeDeps);
  /** One process, and then the time after which a process that no longer reports counts as dead. */
  const live = async (folder = ""): Promise<Life> => {
    const place = inject("redis");
    if ("failure" in place) throw new Error(place.failure);
    const args = [script, place.url, own.prefix, feature, folder];
    const child: ChildProcess = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    if (child.stdout === null) throw new Error("no output");
    const [output, [, killedBy]] = await Promise.all([text(child.stdout), once(child, "close")]);
    await redis.del(own.liveWorkers("processes"));
    return { killedBy: (killedBy ?? undefined) as NodeJS.Signals | undefined, output };
  };
  const liveUntilSetAside = async (folder = ""): Promise<void> => {
    for (let death = 1; death <= 3; death += 1) expect((await live(folder)).killedBy).toBe("SIGKILL");
    const last = await live(folder);
    expect(last.killedBy).toBeUndefined();
    expect(last.output).toContain(reason);
    // It is not taken again.
    expect(await live(folder)).toEqual({ killedBy: undefined, output: "" });
  };
  const reported = async () =>
    [...(await feed.after(beforeAll, 100)).events].map(({ type, fields }) => [type, fields.reason]);
  return { storeDeps, feed, liveUntilSetAside, reported };
}

it("a schedule whose task kills three workers is paused, and shows why", { timeout: 60_000 }, async () => {
  const { storeDeps, liveUntilSetAside, reported } = placeOf("schedule");
  const log = scheduleLog(storeDeps);
  const name = "nightly";
  const atMs = Date.parse("2026-11-22T03:00:00Z");
  await log.update({ name, profile: "default" }, () => ({
    change: { requested: { id: "nightly-1", by: "anna", atMs } },
  }));
  await liveUntilSetAside();
  const record = await log.record({ name, profile: "default" });
  expect(record.firing).toBeUndefined();
  expect(record.paused?.by).toBe("simfleet");
  expect(record.last).toMatchObject({ id: "nightly-1", result: "failed", reason });
  expect(await reported()).toEqual([
    ["schedule.failed", reason],
    ["schedule.paused", reason],
  ]);
});

it("a delivery that kills three workers fails, and can be sent again", { timeout: 60_000 }, async () => {
  const { storeDeps, liveUntilSetAside, reported } = placeOf("delivery");
  const log = new DeliveryLog(storeDeps);
  const id = `${systemClock.wallMs()}-0`;
  const event = { id, type: "run.completed", atMs: 1, profile: "default", fields: {} } as const;
  await log.begin("ops", event);
  await liveUntilSetAside();
  expect(await log.delivery(`ops.${id}`)).toMatchObject({ state: "failed", lastReason: reason });
  expect(await reported()).toEqual([["webhook.failed", reason]]);
  expect(await log.redeliver(`ops.${id}`)).toBe("pending");
});

it("an automation whose task kills three workers is stopped, and shows why", { timeout: 60_000 }, async () => {
  const { storeDeps, liveUntilSetAside, reported } = placeOf("automation");
  await liveUntilSetAside();
  const record = await automationLog(storeDeps).record({ name: "syncs", profile: "default" });
  expect(record).toMatchObject({ state: "stopped", reason });
  expect(await reported()).toEqual([["automation.stopped", reason]]);
});

it("a file of a drop folder that kills three workers is moved to failed/", { timeout: 60_000 }, async () => {
  const { liveUntilSetAside, reported } = placeOf("file");
  const folder = mkdtempSync(join(tmpdir(), "simfleet-poison-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "fleet.csv"), "simId,speedClass\n");
  await liveUntilSetAside(folder);
  const stem = "fleet.r-20261122-030000-abcd1234";
  expect(readdirSync(join(folder, "failed")).toSorted()).toEqual([`${stem}.csv`, `${stem}.problem.txt`]);
  expect(readFileSync(join(folder, "failed", `${stem}.problem.txt`), "utf8")).toBe(`${reason}\n`);
  expect(readdirSync(join(folder, "processing"))).toEqual([]);
  expect(await reported()).toEqual([
    ["file.taken", undefined],
    ["file.refused", reason],
  ]);
});
