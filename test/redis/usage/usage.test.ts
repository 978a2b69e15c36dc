/** The usage of a fleet: what the inventory has of it, which SIMs are reported, and what a bad export changes. */
import { describe, expect, it } from "vitest";
import { parseFilter } from "#fleet/filter.ts";
import { writeUsage } from "#jobs/inventory/store/usage.ts";
import { openTestRedis } from "../../support/redis.ts";
import { UsageHarness, much, noonMs } from "./usage-harness.ts";

const place = openTestRedis();
const monthMs = Date.UTC(2099, 4, 1);
const dayMs = Date.UTC(2099, 4, 20);
const hourMs = 3_600_000;
const sims = Array.from({ length: 40 }, (_, nth) => nth);

/** A fleet whose usage has been synced once. */
async function setup(options?: Parameters<typeof UsageHarness.open>[1]) {
  const harness = await UsageHarness.open(place, options);
  return { harness, synced: await harness.sync() };
}

describe("the usage of a fleet", () => {
  it("is what each SIM has used in the current month and day, in four calls", async () => {
    const { harness, synced } = await setup();
    expect(synced).toMatchObject({ calls: 4, unknown: 0 });
    expect(sims.filter((nth) => harness.bytesOf(nth, monthMs, noonMs) === 0).length).toBeGreaterThan(2);
    for (const nth of sims) {
      expect(await harness.usageOf(nth, "month")).toBe(harness.bytesOf(nth, monthMs, noonMs));
      expect(await harness.usageOf(nth, "day")).toBe(harness.bytesOf(nth, dayMs, noonMs));
    }
  });

  it("can be filtered by, also where most SIMs have another value", async () => {
    const { harness } = await setup();
    const found = await harness.fleet.find(parseFilter("usage.month=0"));
    const idle = sims.filter((nth) => harness.bytesOf(nth, monthMs, noonMs) === 0);
    expect(found).toEqual(idle.map((nth) => harness.simId(nth)));
    const { inventory, profile } = harness.fleet;
    expect((await inventory.facts(profile)).fields).toEqual(expect.arrayContaining(["usage.day", "usage.month"]));
  });

  it("stays when the SIMs are synced, and is no change of a SIM", async () => {
    const { harness } = await setup({ more: { thresholds: [] } });
    const before = await harness.usageOf(1, "month");
    harness.fleet.sandbox.fleet.edit(harness.simId(1), { tags: { site: "moved" } });
    const { state } = await harness.fleet.sync();
    harness.clock.nowMs += hourMs;
    await harness.sync();
    expect(state).toMatchObject({ changed: 1, sims: 40 });
    expect(await harness.usageOf(1, "month")).toBeGreaterThan(before ?? Infinity);
    const { events } = await harness.fleet.feed.newest({ profile: harness.fleet.profile }, { limit: 100 });
    const fields = events.filter(({ type }) => type === "sim.changed").map((event) => event.fields.field);
    expect(fields.filter((field) => field?.startsWith("usage"))).toEqual([]);
  });

  it("is whole after two syncs at once", async () => {
    const harness = await UsageHarness.open(place);
    const values = Float64Array.from({ length: 100_000 }, (_, ordinal) => ordinal + 1);
    const write = () => writeUsage(harness.parts, harness.fleet.profile, { period: "month", values, endMs: noonMs });
    await Promise.all([write(), write(), write()]);
    for (const nth of sims) expect(await harness.usageOf(nth, "month")).toBeGreaterThan(0);
  });

  it("is not known once its period has ended, even if that was while it was read", async () => {
    const harness = await UsageHarness.open(place);
    const values = Float64Array.from(sims);
    await writeUsage(harness.parts, harness.fleet.profile, { period: "day", values, endMs: Date.now() - 1_000 });
    expect(await harness.usageOf(1, "day")).toBeUndefined();
  });

  it("is not known of a SIM that was added after the export", async () => {
    const { harness } = await setup();
    harness.fleet.sandbox.fleet.add(1);
    await harness.fleet.sync();
    expect(await harness.usageOf(40, "month")).toBeUndefined();
  });
});

describe("a threshold", () => {
  const over = (harness: UsageHarness, bytes: number, fromMs: number, toMs: number): string[] =>
    sims.filter((nth) => harness.bytesOf(nth, fromMs, toMs) > bytes).map((nth) => harness.simId(nth));

  it("is reported once for each SIM and month", async () => {
    const { harness } = await setup();
    const first = over(harness, much.over, monthMs, noonMs);
    expect((await harness.crossed()).toSorted()).toEqual(first.toSorted());
    harness.clock.nowMs += 10 * 24 * hourMs;
    await harness.sync();
    const later = over(harness, much.over, monthMs, harness.clock.nowMs - 60_000);
    expect(later.length).toBeGreaterThan(first.length);
    expect((await harness.crossed()).toSorted()).toEqual(later.toSorted());
  });

  it("is reported again in the next month, also at midnight", async () => {
    const { harness } = await setup();
    const inMay = await harness.crossed();
    harness.clock.nowMs = Date.UTC(2099, 5, 19);
    await harness.sync();
    const inJune = over(harness, much.over, Date.UTC(2099, 5, 1), Date.UTC(2099, 5, 19));
    expect(await harness.crossed()).toHaveLength(inMay.length + inJune.length);
  });

  it("of a day is for the SIMs of its filter", async () => {
    const where = parseFilter("speedClass=s1.fast");
    const thresholds = [{ name: "today", where, over: 1e7, per: "day" }] as const;
    const { harness, synced } = await setup({ more: { thresholds } });
    const fast = sims.filter((nth) => harness.fleet.sandbox.state.sims.speedClassAt(nth) === "s1.fast");
    const expected = over(harness, 1e7, dayMs, noonMs).filter((id) => fast.some((nth) => harness.simId(nth) === id));
    expect(expected.length).toBeGreaterThan(0);
    expect((await harness.crossed()).toSorted()).toEqual(expected.toSorted());
    expect(synced.crossed).toBe(expected.length);
  });
});

describe("an export", () => {
  const header =
    "\uFEFFimsi,date,type,uploadByteSizeTotal,uploadPacketCountTotal,downloadByteSizeTotal,downloadPacketCountTotal,site\n";

  it("that is never finished is an error after five calls, and changes nothing", async () => {
    const harness = await UsageHarness.open(place, { exportMs: 86_400_000 });
    await expect(harness.sync()).rejects.toThrow(/did not finish the export in time: usage of the month/);
    const { exportUsage = 0, getExportedFile = 0 } = harness.fleet.sandbox.state.totals.byOperation;
    expect(exportUsage + getExportedFile).toBeLessThanOrEqual(5);
    expect(await harness.usageOf(1, "month")).toBeUndefined();
  });

  it("that takes a while is asked for again", async () => {
    const { synced } = await setup({ exportMs: 60_000 });
    expect(synced).toMatchObject({ calls: 5 });
  });

  it("that the platform fails to make is an error", async () => {
    const harness = await UsageHarness.open(place, { exportFailures: 1 });
    await expect(harness.sync()).rejects.toThrow("The platform failed to make the export: usage of the month");
  });

  it("whose SIMs are not in the inventory is counted, and not stored", async () => {
    const harness = await UsageHarness.open(place);
    const imsi = harness.fleet.sandbox.state.sims.imsiAt(3);
    const lines = `${imsi},DATE,a,1,1,2,1,x\n${imsi},DATE,b,10,1,20,1,x\n999990000000001,DATE,a,1,1,1,1,x\n`;
    await harness.giveFile((date) => header + lines.replaceAll("DATE", date));
    expect(await harness.sync()).toMatchObject({ sims: 1, unknown: 1 });
    expect([await harness.usageOf(3, "month"), await harness.usageOf(4, "month")]).toEqual([33, 0]);
  });

  it("of a fleet without usage has only its header", async () => {
    const harness = await UsageHarness.open(place);
    await harness.giveFile(() => header);
    expect(await harness.sync()).toMatchObject({ sims: 0, unknown: 0 });
    expect(await harness.usageOf(3, "day")).toBe(0);
  });

  it.each([
    ["a last line that was cut", "295050000000001,202", "2 cells of 8: it is not whole"],
    ["no number of bytes", "295050000000001,DATE,a,x,1,1,1,x\n", "a number of bytes that is none"],
    ["another form of date", "295050000000001,2099-05,a,1,1,1,1,x\n", "no date such as 209905"],
    ["no IMSI", "sim-1,DATE,a,1,1,1,1,x\n", "no IMSI"],
  ])("with %s changes nothing", async (_, line, reason) => {
    const { harness } = await setup();
    const [before, crossed] = [await harness.usageOf(1, "month"), await harness.crossed()];
    await harness.giveFile((date) => header + line.replace("DATE", date));
    await expect(harness.sync()).rejects.toThrow(`Line 2 of the export has ${reason}`);
    expect([await harness.usageOf(1, "month"), await harness.crossed()]).toEqual([before, crossed]);
  });

  it.each([
    ["without a needed column", "imsi,date,type\n", "The export has no column uploadByteSizeTotal."],
    ["with a thousand columns too many", `${header.trim()}${",x".repeat(1_000)}\n`, /1008 columns/],
  ])("%s is refused", async (_, file, reason) => {
    const harness = await UsageHarness.open(place);
    await harness.giveFile(() => file);
    await expect(harness.sync()).rejects.toThrow(reason);
  });

  it("whose connection breaks changes nothing", async () => {
    const harness = await UsageHarness.open(place);
    await harness.giveFile((date) => `${header}295050000000001,${date},a,1,1,1,1,x\n`, { missingBytes: 10 });
    await expect(harness.sync()).rejects.toThrow(/could not be read/);
    expect(await harness.usageOf(1, "month")).toBeUndefined();
  });
});
