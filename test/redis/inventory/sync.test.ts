import { describe, expect, it, onTestFinished } from "vitest";
import { parseRecordPath } from "#fleet/sim/record-path.ts";
import { inventoryKeys } from "#jobs/inventory/store/keys.ts";
import { openTestRedis } from "../../support/redis.ts";
import { answer, quotaHeaders, startOpenPlatform, type Handler, clientTo } from "../../unit/api/support.ts";
import { FleetHarness, type FleetOptions, refusalIn } from "./fleet-harness.ts";

const { redis, keys } = openTestRedis();
const setup = (options: FleetOptions = {}): Promise<FleetHarness> => FleetHarness.open({ redis, keys }, options);

/** A fleet that is listed by a platform of this handler. */
async function setupOn(handler: Handler, pageLimit?: number): Promise<FleetHarness> {
  const fleet = await setup({ sims: 1 });
  await listBy(fleet, handler);
  fleet.account = { ...fleet.account, pageLimit };
  return fleet;
}

/** Lets a platform of this handler list the fleet. */
async function listBy(fleet: FleetHarness, handler: Handler): Promise<void> {
  const { client } = clientTo(await startOpenPlatform(handler));
  fleet.account = { ...fleet.account, client };
}

async function syncFields(fleet: FleetHarness, fields: readonly string[]): Promise<void> {
  fleet.account = fleet.keeping(fields);
  await fleet.sync();
}

/** Records of which 4 MiB hold some 415. */
const large = Array.from({ length: 1_500 }, (_, n) => ({
  simId: `89423100000${String(n).padStart(8, "0")}`,
  speedClass: "s1.fast",
  filler: "x".repeat(10_000),
}));

/** Lists those records, and notes the limit of each page. */
function listLarge(limits: number[]): Handler {
  return (request, response) => {
    const query = new URL(request.url ?? "", "http://platform").searchParams;
    const limit = Number(query.get("limit") ?? 5_000);
    const from = Number(query.get("last_evaluated_key") ?? 0);
    limits.push(limit);
    const records = large.slice(from, from + limit);
    const next = from + limit < large.length ? { "x-svc-next-key": String(from + limit) } : {};
    answer(response, 200, records, { ...quotaHeaders, ...next });
  };
}

/** Acts once so many more pages have been asked for. */
function actAfterPages(fleet: FleetHarness, pages: number, act: () => void): void {
  const last = fleet.listCalls + pages;
  const poll = setInterval(() => {
    if (fleet.listCalls < last) return;
    clearInterval(poll);
    act();
  }, 1);
  onTestFinished(() => clearInterval(poll));
}

/** A signal that aborts once so many more pages have been asked for. */
function afterPages(fleet: FleetHarness, pages: number): AbortSignal {
  const cut = new AbortController();
  actAfterPages(fleet, pages, () => cut.abort(new Error("interrupted")));
  return cut.signal;
}

describe("sync of the entire fleet", () => {
  it.each<[string, FleetOptions]>([
    ["by both headers", { paging: "both" }],
    ["by the next-key header alone", { paging: "key" }],
    ["by the link header alone", { paging: "link" }],
    ["through cursors that need encoding", { hostileCursors: true }],
    ["through cursors that need encoding in the link header", { hostileCursors: true, paging: "link" }],
    ["through short and empty pages", { shortPages: 0.3, emptyPages: 0.3 }],
    ["with a limit of its own", { pageLimit: 17 }],
    ["on the Japan address", { serves: ["jp"], coverageTypes: ["jp"] }],
  ])("a sync reads the entire fleet %s", async (_, options) => {
    const fleet = await setup({ sims: 230, pageSize: 20, ...options });
    const { result, state } = await fleet.sync();
    expect(result).toEqual({ kind: "ended" });
    expect(state).toMatchObject({ phase: "finished", sims: 230, added: 230, changed: 0, gone: 0 });
    expect(state.pages).toBe(fleet.listCalls);
    expect(await fleet.known()).toEqual(fleet.listed());
  });

  it.each([
    ["of a configured length", 20_000],
    ["of the platform's own length", undefined],
  ])("a sync requests shorter pages when one %s exceeds the response size limit", async (_name, pageLimit) => {
    const limits: number[] = [];
    const fleet = await setupOn(listLarge(limits), pageLimit);
    const { result, state } = await fleet.sync();
    expect(result).toEqual({ kind: "ended" });
    expect(state).toMatchObject({ phase: "finished", sims: large.length });
    expect(limits.at(-1)).toBeLessThanOrEqual(415);
    expect(limits.length).toBeLessThan(16);
  });

  it("a sync fails with a reason when even a page of one SIM is too large", async () => {
    const sims = [{ simId: "8942310000000000001", filler: "x".repeat(5_000_000) }];
    const fleet = await setupOn((_, response) => answer(response, 200, sims, quotaHeaders), 4);
    const { state } = await fleet.sync();
    expect(state).toMatchObject({ phase: "failed", reason: expect.stringContaining("larger than 4194304 bytes") });
  });

  it("a sync uses IMSIs in the earlier API wording", async () => {
    const fleet = await setup({ sims: 60, pageSize: 25, wording: "subscribers" });
    const { state } = await fleet.sync();
    expect(state).toMatchObject({ phase: "finished", sims: 60 });
    const imsis = Array.from({ length: 60 }, (_, place) => fleet.sandbox.state.sims.imsiAt(place));
    expect([...(await fleet.known()).keys()]).toEqual(imsis);
  });

  const places = {
    imsi: parseRecordPath("profiles.*.primaryImsi"),
    subscription: parseRecordPath("profiles.*.subscribers.*.subscription"),
  };
  const nested: FleetOptions = { sims: 40, records: "soracom", selection: { places } };

  it("a sync finds nested IMSIs", async () => {
    const fleet = await setup(nested);
    await fleet.sync();
    for (const [simId, document] of await fleet.known()) {
      const place = fleet.sandbox.state.placeOf(simId) ?? -1;
      expect(document.imsi).toBe(fleet.sandbox.state.sims.imsiAt(place));
      expect(document.subscription).toMatch(/^plan/);
    }
  });

  it("a sync stores no private keys even when the whole object around them is selected", async () => {
    const fleet = await setup(nested);
    await fleet.sync();
    await syncFields(fleet, ["profiles", "imsi"]);
    const dump = JSON.stringify(await redis.hgetall(inventoryKeys(keys).records(fleet.profile)));
    expect(dump).toContain("primaryImsi");
    expect(dump).not.toContain("arcClientPeerPrivateKey");
    const secrets = Array.from({ length: 40 }, (_, place) => secretOf(fleet, place));
    for (const secret of secrets) expect(dump).not.toContain(secret);
    expect(JSON.stringify(await fleet.events())).not.toContain("arcClient");
  });
});

function secretOf(fleet: FleetHarness, place: number): string {
  const text = fleet.sandbox.state.sims.textAt(place);
  const secret = /"arcClientPeerPrivateKey":"([^"]+)"/.exec(text)?.[1];
  if (secret === undefined) throw new Error("the sandbox shows no secret");
  return secret;
}

describe("changes found by a sync", () => {
  it("the first sync emits no SIM events", async () => {
    const fleet = await setup({ sims: 30 });
    await fleet.sync();
    expect(await fleet.events()).toEqual([
      { type: "sync.completed", cause: "s-1", sims: "30", added: "30", changed: "0", returned: "0", gone: "0" },
    ]);
  });

  /** A fleet of which one SIM was changed, one removed and one added, after the first sync. */
  async function setupChanged() {
    const fleet = await setup({ sims: 50, pageSize: 20 });
    const { sims } = fleet.sandbox.state;
    const [changed = "", removed = ""] = [3, 21].map((place) => sims.simIdAt(place));
    const tags = { site: "berlin", old: "1" };
    fleet.sandbox.fleet.edit(changed, { speedClass: "s1.slow", status: "active", groupId: "g-1", tags });
    await fleet.sync();
    fleet.sandbox.fleet.edit(changed, { speedClass: "s1.fast", groupId: null, tags: { site: "osaka", new: "2" } });
    fleet.sandbox.fleet.remove([removed]);
    const [added = ""] = fleet.sandbox.fleet.add(1);
    return { fleet, changed, removed, added };
  }

  it("a sync emits changes field by field, and which SIMs are new or gone", async () => {
    const { fleet, changed: a, removed: b, added } = await setupChanged();
    await fleet.sync();
    const second = { by: "external", cause: "s-2" };
    expect(await fleet.events(["sim.added", "sim.changed", "sim.gone", "sim.returned"])).toEqual([
      { type: "sim.changed", sim: a, field: "groupId", before: "g-1", ...second },
      { type: "sim.changed", sim: a, field: "speedClass", before: "s1.slow", after: "s1.fast", ...second },
      { type: "sim.changed", sim: a, field: "tags.new", after: "2", ...second },
      { type: "sim.changed", sim: a, field: "tags.old", before: "1", ...second },
      { type: "sim.changed", sim: a, field: "tags.site", before: "berlin", after: "osaka", ...second },
      { type: "sim.added", sim: added, ...second },
      { type: "sim.gone", sim: b, ...second },
    ]);
  });

  it("a sync counts and stores which SIMs are new, changed or gone", async () => {
    const { fleet, removed } = await setupChanged();
    const { state } = await fleet.sync();
    expect(state).toMatchObject({ sims: 50, added: 1, changed: 1, gone: 1, returned: 0 });
    expect(await fleet.known()).toEqual(fleet.listed());
    expect([...(await fleet.known("gone")).keys()]).toEqual([removed]);
    expect(await fleet.inventory.facts(fleet.profile)).toMatchObject({ known: 50, gone: 1, isComplete: true });
  });

  it("a sync emits that a SIM that was gone has returned", async () => {
    const { fleet, removed: b } = await setupChanged();
    await fleet.sync();
    const c = fleet.sandbox.state.sims.simIdAt(44);
    fleet.sandbox.fleet.change({ restore: [b], remove: [c] });
    await fleet.sync();
    const third = { by: "external", cause: "s-3" };
    expect((await fleet.events()).slice(-3)).toEqual([
      { type: "sim.returned", sim: b, ...third },
      { type: "sim.gone", sim: c, ...third },
      expect.objectContaining({ type: "sync.completed", returned: "1", gone: "1", added: "0", changed: "0" }),
    ]);
    expect(await fleet.inventory.facts(fleet.profile)).toMatchObject({ known: 50, gone: 1 });
  });

  it("a sync emits no change if only fields changed that are not stored", async () => {
    const fleet = await setup({ sims: 10 });
    await fleet.sync();
    fleet.sandbox.fleet.edit(fleet.sandbox.state.sims.simIdAt(4), { sessionStatus: { online: "maybe" } });
    const { state } = await fleet.sync();
    expect(state).toMatchObject({ changed: 0 });
    expect(await fleet.events(["sim.changed"])).toEqual([]);
  });

  /** A fleet of which two more fields are stored since its second sync, and the id of one of its SIMs. */
  async function setupGrown() {
    const fleet = await setup({ sims: 10 });
    await syncFields(fleet, ["speedClass"]);
    await syncFields(fleet, ["speedClass", "moduleType", "sessionStatus.online"]);
    return { fleet, sim: fleet.sandbox.state.sims.simIdAt(4) };
  }

  it("a sync emits no change for a field whose storage starts, only for later changes of it", async () => {
    const { fleet, sim } = await setupGrown();
    expect(await fleet.events(["sim.changed"])).toEqual([]);
    const stored = { moduleType: "nano", sessionStatus: { online: expect.any(Boolean) as boolean } };
    expect((await fleet.known()).get(sim)).toMatchObject(stored);
    await syncFields(fleet, ["speedClass", "moduleType"]);
    fleet.sandbox.fleet.edit(sim, { moduleType: "embedded" });
    await fleet.sync();
    const change = { sim, field: "moduleType", before: "nano", after: "embedded" };
    expect(await fleet.events(["sim.changed"])).toMatchObject([change]);
  });

  it("a sync emits no change for a field whose storage stops", async () => {
    const { fleet, sim } = await setupGrown();
    await syncFields(fleet, ["speedClass", "moduleType"]);
    expect(await fleet.events(["sim.changed"])).toEqual([]);
    expect((await fleet.known()).get(sim)).not.toHaveProperty("sessionStatus");
  });
});

describe("fleets that change during a sync", () => {
  /** A fleet of which three SIMs were removed, and to which 30 were added, in the middle of its second sync. */
  async function setupChanging() {
    const fleet = await setup({ sims: 200, pageSize: 20, latencyMs: 3, hostileCursors: true });
    await fleet.sync();
    const removed = [2, 90, 199].map((place) => fleet.sandbox.state.sims.simIdAt(place));
    let added: string[] = [];
    actAfterPages(fleet, 5, () => {
      added = fleet.sandbox.fleet.add(30);
      fleet.sandbox.fleet.remove(removed);
    });
    await fleet.sync();
    expect(added).toHaveLength(30);
    return { fleet, removed };
  }

  it("a sync of a changing fleet marks no listed SIM as gone", async () => {
    const { fleet, removed } = await setupChanging();
    // One that was listed before it was removed goes with the next sync; none that is still there went.
    const gone = new Set((await fleet.known("gone")).keys());
    for (const sim of gone) expect(removed).toContain(sim);
  });

  it("the sync after that of a changing fleet has stored and emitted what the list shows", async () => {
    const { fleet, removed } = await setupChanging();
    await fleet.sync();
    expect(await fleet.known()).toEqual(fleet.listed());
    expect([...(await fleet.known("gone")).keys()].toSorted()).toEqual(removed.toSorted());
    const types = ["sim.gone", "sim.added", "sim.returned"] as const;
    const counts = types.map(async (type) => (await fleet.events([type])).length);
    expect(await Promise.all(counts)).toEqual([3, 30, 0]);
  });
});

describe("interrupted syncs", () => {
  it("an interrupted sync marks nothing as gone and resumes after the last stored page", async () => {
    const fleet = await setup({ sims: 200, pageSize: 10, latencyMs: 2 });
    await fleet.sync();
    fleet.sandbox.fleet.remove(Array.from({ length: 5 }, (_, n) => fleet.sandbox.state.sims.simIdAt(190 + n)));
    const { result, state } = await fleet.sync({ signal: afterPages(fleet, 6) });
    expect([result, state.phase]).toEqual([{ kind: "handed-back" }, "listing"]);
    expect(state.pages).toBeGreaterThan(0);
    expect(state.pages).toBeLessThan(15);
    expect((await fleet.known("gone")).size).toBe(0);
    const after = fleet.listCalls;
    const resumed = await fleet.sync();
    expect(resumed.state).toMatchObject({ phase: "finished", syncId: state.syncId, sims: 195, gone: 5, added: 0 });
    // Every page once, and those once more that were in flight when it was interrupted.
    expect(fleet.listCalls - after).toBe(resumed.state.pages - state.pages);
  });

  it("a sync waits for the quota as long as the platform says and loses no page", async () => {
    const fleet = await setup({ sims: 100, pageSize: 10 });
    fleet.sandbox.throttle.changeLimit({ group: "Sim", limit: 4, afterMs: 0 });
    const { result, state } = await fleet.sync();
    expect(result).toMatchObject({ kind: "postponed", scope: "job", delayMs: expect.any(Number) });
    expect(result.kind === "postponed" && result.delayMs).toBeGreaterThan(2_000);
    expect(state).toMatchObject({ phase: "listing", sims: state.pages * 10 });
    fleet.sandbox.throttle.changeLimit({ group: "Sim", limit: 1e9, afterMs: 0 });
    fleet.sandbox.throttle.reset();
    expect((await fleet.sync()).state).toMatchObject({ phase: "finished", sims: 100, added: 100 });
  });

  it("a sync reports that the platform rejects the credentials and retries later", async () => {
    const fleet = await setup({ sims: 10, authKey: "secret-other" });
    const { result, state } = await fleet.sync();
    expect(refusalIn(result)).toMatchObject({ code: "PLATFORM_UNAUTHORIZED" });
    expect(state.phase).toBe("listing");
  });

  it("a sync starts again if the platform no longer knows the cursor", async () => {
    const fleet = await setup({ sims: 60, pageSize: 10, latencyMs: 2 });
    const { state } = await fleet.sync({ signal: afterPages(fleet, 3) });
    await redis.hset(inventoryKeys(keys).sync(fleet.profile), "cursor", "a-cursor-of-long-ago");
    const again = await fleet.sync();
    expect(again.state).toMatchObject({ phase: "finished", sims: 60, gone: 0 });
    expect(again.state.syncId).not.toBe(state.syncId);
    expect(await fleet.known()).toEqual(fleet.listed());
  });

  it("a sync is left unchanged by a late process", async () => {
    const fleet = await setup({ sims: 30, pageSize: 10 });
    const state = await fleet.begin();
    const noSims = { keys: [], linesOf: () => "" };
    const late = { syncId: state.syncId, pagesBefore: 0, sims: noSims, nextKey: "k", asOfMs: 0, quiet: [] };
    expect(await fleet.syncs.takePage(fleet.profile, late)).toEqual(expect.any(Number));
    expect(await fleet.syncs.takePage(fleet.profile, late)).toBeUndefined();
    await fleet.begin("restart");
    expect(await fleet.syncs.takePage(fleet.profile, { ...late, pagesBefore: 1 })).toBeUndefined();
    expect(await fleet.syncs.sweep(fleet.profile, state, [])).toBe(false);
  });
});

describe("failed syncs", () => {
  it("a sync fails on a repeated cursor without marking SIMs as gone, and the next one starts from scratch", async () => {
    const fleet = await setup({ sims: 40, pageSize: 10 });
    await fleet.sync();
    fleet.sandbox.fleet.remove([fleet.sandbox.state.sims.simIdAt(35)]);
    const sims = [{ simId: fleet.sandbox.state.sims.simIdAt(0) }];
    const headers = { ...quotaHeaders, "x-svc-next-key": "the-same" };
    await listBy(fleet, (_, response) => answer(response, 200, sims, headers));
    const { result, state } = await fleet.sync();
    expect(result).toEqual({ kind: "ended" });
    expect(state).toMatchObject({ phase: "failed", reason: expect.stringContaining("never end"), gone: 0 });
    expect((await fleet.known("gone")).size).toBe(0);
    expect(await fleet.events(["sync.failed"])).toMatchObject([{ reason: expect.stringContaining("never end") }]);
    fleet.account = fleet.keeping();
    expect((await fleet.sync()).state).toMatchObject({ phase: "finished", sims: 39, gone: 1 });
  });
});
