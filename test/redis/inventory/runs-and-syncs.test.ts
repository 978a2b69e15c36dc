/** Runs and syncs write to the same SIMs: changes are attributed correctly; old pages overwrite no newer response. */
import { describe, expect, it } from "vitest";
import { pickFields } from "#fleet/sim/sim-fields.ts";
import { fieldTextOf } from "#jobs/inventory/store/inventory.ts";
import type { RunHead } from "#jobs/runs/ledger/run-record.ts";
import { inventoryKeys } from "#jobs/inventory/store/keys.ts";
import { openTestRedis } from "../../support/redis.ts";
import { until } from "../../support/until.ts";
import { lockOf, settledAs, submit } from "../ledger/run-of.ts";
import { FleetHarness, type FleetOptions } from "./fleet-harness.ts";

const { redis, keys } = openTestRedis();
const noCounts = { calls: 1, throttled: 0 };

type Arrangement = FleetOptions & { readonly edit?: Record<string, unknown> };

/** A fleet of which one SIM was edited, and that SIM; no sync has read it. */
async function setupUnread({ edit, ...options }: Arrangement = {}) {
  const fleet = await FleetHarness.open({ redis, keys }, { sims: 5, ...options });
  const key = fleet.sandbox.state.sims.simIdAt(1);
  if (edit !== undefined) fleet.sandbox.fleet.edit(key, edit);
  return { fleet, key };
}

async function setup(arrangement: Arrangement = {}) {
  const { fleet, key } = await setupUnread(arrangement);
  await fleet.sync();
  return { fleet, key };
}

/** A run with one row, of this fleet's profile. */
function runOn(fleet: FleetHarness): Promise<RunHead> {
  return submit(fleet.ledger, [[1]], { profile: fleet.profile });
}

async function editAndSync(fleet: FleetHarness, key: string, edit: Record<string, unknown>): Promise<void> {
  fleet.sandbox.fleet.edit(key, edit);
  await fleet.sync();
}

/** Settles the run's row as the response to a change, whose record was this. */
async function settle(fleet: FleetHarness, run: RunHead, key: string, record: Record<string, unknown>): Promise<void> {
  const settled = settledAs("done");
  const basisMs = (await fleet.inventory.sim(fleet.profile, key))?.updatedAtMs;
  const shown = pickFields(record, fleet.account.selection);
  const row = { place: 0, key, weight: 1, settled, shown, set: ["speedClass"], basisMs };
  await fleet.ledger.settle(run, 0, [row], noCounts);
}

/** A run that is about to set a class, which no response has shown yet. */
async function setupLocked() {
  const { fleet, key } = await setup({ edit: { speedClass: "s1.slow" } });
  const run = await runOn(fleet);
  await fleet.ledger.lock(run, lockOf([key, "s1.fast"]));
  return { fleet, key, run };
}

async function classOf(fleet: FleetHarness, key: string): Promise<string | undefined> {
  return fieldTextOf(await fleet.inventory.sim(fleet.profile, key), "speedClass");
}

describe("responses to changes of a run", () => {
  it("the response to a run's change is stored in the inventory at once and attributed to the run", async () => {
    const { fleet, key } = await setup({ edit: { speedClass: "s1.slow", status: "active", groupId: "g-1" } });
    const run = await runOn(fleet);
    await settle(fleet, run, key, { simId: key, speedClass: "s1.fast", status: "standby", groupId: null });
    // Fields that the response did not have are unchanged.
    const { groupId: _, ...others } = fleet.listed().get(key) ?? {};
    expect((await fleet.known()).get(key)).toEqual({ ...others, speedClass: "s1.fast", status: "standby" });
    const cause = run.runId;
    expect(await fleet.events(["sim.changed"])).toEqual([
      { type: "sim.changed", sim: key, field: "groupId", before: "g-1", by: "external", cause },
      { type: "sim.changed", sim: key, field: "speedClass", before: "s1.slow", after: "s1.fast", by: "run", cause },
      { type: "sim.changed", sim: key, field: "status", before: "active", after: "standby", by: "external", cause },
    ]);
  });

  it("the response to a run's change does not count as a change in the next sync", async () => {
    const { fleet, key } = await setup({ edit: { speedClass: "s1.slow" } });
    fleet.sandbox.state.sims.setSpeedClass(1, "s1.fast");
    await settle(fleet, await runOn(fleet), key, { simId: key, speedClass: "s1.fast" });
    const { state } = await fleet.sync();
    expect(state.changed).toBe(0);
    expect(await fleet.events(["sim.changed"])).toMatchObject([{ by: "run" }]);
    expect(await fleet.known()).toEqual(fleet.listed());
  });

  it("the response to a run's change adds an unknown SIM, and completing it by a sync is no change", async () => {
    const { fleet } = await setup();
    const [key = ""] = fleet.sandbox.fleet.add(1);
    const run = await runOn(fleet);
    await settle(fleet, run, key, { simId: key, speedClass: fleet.sandbox.state.speedClassOf(key) });
    expect(await fleet.events(["sim.added"])).toMatchObject([{ sim: key, by: "run", cause: run.runId }]);
    const { state } = await fleet.sync();
    expect(state).toMatchObject({ added: 0, changed: 0 });
    expect(await fleet.events(["sim.changed"])).toEqual([]);
    expect(await fleet.known()).toEqual(fleet.listed());
  });

  it("the response to a run's change restores a SIM that was gone", async () => {
    const { fleet, key } = await setup();
    fleet.sandbox.fleet.remove([key]);
    await fleet.sync();
    await settle(fleet, await runOn(fleet), key, { simId: key, speedClass: "s1.fast" });
    expect(await fleet.events(["sim.returned"])).toMatchObject([{ sim: key, by: "run" }]);
    expect(await fleet.inventory.facts(fleet.profile)).toMatchObject({ known: 5, gone: 0 });
  });

  it("a filter finds the response to a run's change at once", async () => {
    const { fleet, key } = await setup({ sims: 300 });
    await settle(fleet, await runOn(fleet), key, { simId: key, speedClass: "s1.brand-new" });
    const filter = { text: "", expression: { kind: "=", field: "speedClass", values: ["s1.brand-new"] } } as const;
    expect(await fleet.find(filter)).toEqual([key]);
  });
});

describe("two rows of one SIM", () => {
  /** A run whose rows tag one SIM without tags; `answer` is the response to a row, with all tags that it shows. */
  async function setupRows(weights: readonly number[][], open = setup) {
    const { fleet, key } = await open({ edit: { tags: {} } });
    const basisMs = (await fleet.inventory.sim(fleet.profile, key))?.updatedAtMs;
    const run = await submit(fleet.ledger, weights, { profile: fleet.profile });
    const answer = (place: number, tag: string, tags: Readonly<Record<string, string>>) => {
      const shown = pickFields({ tags }, fleet.account.selection);
      return { place, key, weight: 1, settled: settledAs("done"), shown, set: [`tags.${tag}`], basisMs };
    };
    return { fleet, key, run, answer };
  }

  /** Three such rows with locks: a sync reads what they have set before `settleRest` settles two of them. */
  async function setupLockedRows() {
    const { fleet, key, run, answer } = await setupRows([[1, 1], [1]]);
    for (const tags of [["a", "b"], ["c"]]) {
      const fields = new Map(tags.map((tag) => [`tags.${tag}`, { text: tag }] as const));
      await fleet.ledger.lock(run, new Map([[key, fields]]));
    }
    // The response to b shows a as well, whose own response has not arrived.
    await fleet.ledger.settle(run, 0, [answer(1, "b", { a: "a", b: "b" })], noCounts);
    await editAndSync(fleet, key, { tags: { a: "a", b: "b", c: "c" } });
    const settleRest = async (): Promise<void> => {
      await fleet.ledger.settle(run, 0, [answer(0, "a", { a: "a" })], noCounts);
      await fleet.ledger.settle(run, 1, [answer(0, "c", { a: "a", b: "b", c: "c" })], noCounts);
    };
    return { fleet, key, run, settleRest };
  }

  it.each([true, false].flatMap((isKnown) => ["a", "b"].map((first) => ({ isKnown, first }))))(
    "two rows of one SIM, known by a sync: $isKnown, keep the fields of both when $first is answered first",
    async ({ isKnown, first }) => {
      const { fleet, key, run, answer } = await setupRows([[1, 1]], isKnown ? setup : setupUnread);
      // The platform has set a before b.
      const [a, b] = [answer(0, "a", { a: "a" }), answer(1, "b", { a: "a", b: "b" })];
      const [one, other] = first === "a" ? [a, b] : [b, a];
      for (const answers of isKnown ? [[one], [other]] : [[one, other]]) {
        await fleet.ledger.settle(run, 0, answers, noCounts);
      }
      expect((await fleet.known()).get(key)?.tags).toEqual({ a: "a", b: "b" });
    },
  );

  it("rows of one SIM have locks of their own, which end one by one, in one segment or in two", async () => {
    const { fleet, key, run, settleRest } = await setupLockedRows();
    const locks = () => redis.hget(inventoryKeys(keys).locks(fleet.profile), key);
    expect((await locks())?.split("\n").toSorted()).toEqual([run.runId, "tags.a=a", "tags.c=c"].toSorted());
    await settleRest();
    expect(await locks()).toBeNull();
  });

  it("what rows of one SIM change is attributed to their run once, also what a sync reads before their responses", async () => {
    const { fleet, run, settleRest } = await setupLockedRows();
    const byRun = { by: "run", cause: run.runId };
    const changed = ["tags.a", "tags.b", "tags.c"].map((field) => ({ field, ...byRun }));
    expect(await fleet.events(["sim.changed"])).toMatchObject(changed);
    await settleRest();
    expect(await fleet.events(["sim.changed"])).toHaveLength(3);
  });
});

describe("syncs during a run", () => {
  it("a sync does not overwrite a response with a page requested before it", async () => {
    const { fleet, key } = await setup({ latencyMs: 120, edit: { speedClass: "s1.slow" } });
    await fleet.begin();
    const work = fleet.work();
    await untilAsked(fleet);
    // The page is on its way with the old class; meanwhile the change is made and settled.
    await settle(fleet, await runOn(fleet), key, { simId: key, speedClass: "s1.fast" });
    await work;
    expect((await fleet.state()).phase).toBe("finished");
    expect(await classOf(fleet, key)).toBe("s1.fast");
    expect(await fleet.events(["sim.changed"])).toMatchObject([{ by: "run" }]);
  });

  it("a sync attributes a change to the run even before the run has settled it", async () => {
    const { fleet, key, run } = await setupLocked();
    fleet.sandbox.state.sims.setSpeedClass(1, "s1.fast");
    await fleet.sync();
    expect(await fleet.events(["sim.changed"])).toMatchObject([{ sim: key, by: "run", cause: run.runId }]);
    await settle(fleet, run, key, { simId: key, speedClass: "s1.fast" });
    expect(await fleet.events(["sim.changed"])).toHaveLength(1);
    expect(await redis.hlen(inventoryKeys(keys).locks(fleet.profile))).toBe(0);
  });

  it("a sync treats a class other than the locked one as external, and every class once the row is settled", async () => {
    const { fleet, key, run } = await setupLocked();
    await editAndSync(fleet, key, { speedClass: "s1.4xfast" });
    await settle(fleet, run, key, { simId: key, speedClass: "s1.fast" });
    await editAndSync(fleet, key, { speedClass: "s1.minimum" });
    await editAndSync(fleet, key, { speedClass: "s1.fast" });
    const reported = await fleet.events(["sim.changed"]);
    expect(reported.map(({ after, by }) => [after, by])).toEqual([
      ["s1.4xfast", "external"],
      ["s1.fast", "run"],
      ["s1.minimum", "external"],
      ["s1.fast", "external"],
    ]);
  });

  it("a sync releases locks of a run that ended long ago but not of one that has just ended", async () => {
    const { fleet } = await setupUnread();
    const [just, long] = [await runOn(fleet), await runOn(fleet)];
    const [first, second] = [1, 2].map((place) => fleet.sandbox.state.sims.simIdAt(place));
    await fleet.ledger.lock(just, lockOf([first ?? "", "s1.fast"]));
    await fleet.ledger.lock(long, lockOf([second ?? "", "s1.fast"]));
    for (const { runId } of [just, long]) await fleet.ledger.move(runId, "cancelled", ["running"]);
    await redis.hset(keys.run(long.runId), "finishedAtMs", Date.now() - 3_600_000);
    await fleet.sync();
    expect(await redis.hgetall(inventoryKeys(keys).locks(fleet.profile))).toEqual({
      [first ?? ""]: `${just.runId}\nspeedClass=s1.fast`,
    });
  });

  it("settling a row keeps a lock that a later run has replaced", async () => {
    const { fleet, key } = await setup();
    const [first, second] = [await runOn(fleet), await runOn(fleet)];
    await fleet.ledger.lock(first, lockOf([key, "s1.fast"]));
    await fleet.ledger.lock(second, lockOf([key, "s1.slow"]));
    await settle(fleet, first, key, { simId: key, speedClass: "s1.fast" });
    expect(await redis.hget(inventoryKeys(keys).locks(fleet.profile), key)).toBe(`${second.runId}\nspeedClass=s1.slow`);
  });
});

async function untilAsked(fleet: FleetHarness): Promise<void> {
  const before = fleet.listCalls;
  await until("a page is asked for", () => fleet.listCalls > before);
}
