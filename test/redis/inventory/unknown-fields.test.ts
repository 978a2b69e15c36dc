/** A filter on a field that no SIM has is rejected, since `!=` and `not exists` would select the whole fleet. */
import { setSpeedClass } from "#fleet/sim-operation/sim-operation.ts";
import { beforeAll, describe, expect, it } from "vitest";
import { parseFilter } from "#fleet/filter.ts";
import { assertFieldsKnown } from "#jobs/inventory/sims.ts";
import { openSource } from "#jobs/runs/plan/row-source.ts";
import { encodeRecord } from "#jobs/inventory/records/sim-record.ts";
import { openTestRedis } from "../../support/redis.ts";
import { storesOn } from "./sync-harness.ts";

const { inventory, syncs } = storesOn(openTestRedis());
const fields = ["speedClass", "status", "groupId", "tags"];
const selection = { fields, secrets: new Set<string>(), places: {} };
const records: readonly Record<string, unknown>[] = [
  { speedClass: "s1.fast", status: "active", tags: { site: "berlin" } },
  { speedClass: "s1.slow", status: "ready" },
];

/** A fleet of two SIMs, none of them in a group. */
async function readFleet(profile: string, { isWhole }: { isWhole: boolean }): Promise<void> {
  const { syncId } = await syncs.begin(profile, "s-1", "restart");
  await syncs.takePage(profile, {
    syncId,
    pagesBefore: 0,
    sims: {
      keys: records.map((_, n) => `8942300000${n}`),
      linesOf: (place) => encodeRecord(records[place] ?? {}, selection),
    },
    nextKey: isWhole ? undefined : "next",
    asOfMs: await syncs.nowMs(),
    quiet: [],
  });
  if (!isWhole) return;
  const state = await syncs.state(profile);
  if (state !== undefined) await syncs.sweep(profile, state, fields);
}

function check(profile: string, filter: string): Promise<void> {
  return assertFieldsKnown(inventory, { profile, filter: parseFilter(filter), keyColumn: "simId" });
}

beforeAll(async () => {
  await readFleet("whole", { isWhole: true });
  await readFleet("partial", { isWhole: false });
});

describe("filters on unknown fields", () => {
  it.each([
    ["speedclass!=s1.fast", "speedclass", "speedClass"],
    ["status=active and Tags.site not exists", "Tags.site", "tags.site"],
    ["tags.sites!=berlin", "tags.sites", "tags.site"],
    ["imis exists", "imis", undefined],
  ])("a filter on a field that no SIM has is refused: %s", async (filter, field, meant) => {
    const hint = meant === undefined ? "" : ` Did you mean ${meant}?`;
    await expect(check("whole", filter)).rejects.toThrow(
      `No SIM in the inventory has the field ${field}.${hint} Known`,
    );
  });

  it("a filter on a field that no SIM has is refused before a run reads its SIMs", async () => {
    const from = { filter: parseFilter("speedclass!=s1.fast") };
    const request = { operation: setSpeedClass, set: { speedClass: "s1.slow" } };
    await expect(openSource(from, request, { inventory, profile: "whole" })).rejects.toMatchObject({ code: "USAGE" });
  });

  it("a filter on a field that no SIM has is refused while the first sync has read only some pages", async () => {
    await expect(check("partial", "statsu!=active")).rejects.toThrow("Did you mean status?");
  });
});

it.each(["simId=89423000000", "groupId not exists", "tags.site=osaka", "tags exists and status in (ready)"])(
  "a filter on fields that syncs keep is accepted, even if no SIM has a value: %s",
  async (filter) => {
    await expect(check("whole", filter)).resolves.toBeUndefined();
  },
);

it("an empty inventory accepts a filter on any field", async () => {
  await expect(check("empty", "anything=1")).resolves.toBeUndefined();
});
