import { describe, expect, test } from "vitest";
import { openSandbox } from "./open-sandbox.ts";

interface Shown {
  readonly simId: string;
  readonly [field: string]: unknown;
}

/** A sandbox of some SIMs, with their ids. */
async function setup(sims: number) {
  const opened = await openSandbox({ sims });
  const ids = Array.from({ length: sims }, (_, place) => opened.sandbox.state.sims.simIdAt(place));
  /** One page of the list, and the way to the next. */
  const page = async ({ limit = 100, key = "" }: { limit?: number; key?: string | null } = {}) => {
    const cursor = key ? `&last_evaluated_key=${encodeURIComponent(key)}` : "";
    const { json, headers } = await opened.call("GET", `/v1/sims?limit=${limit}${cursor}`);
    return { simIds: json.map(({ simId }: Shown) => simId) as string[], next: headers.get("x-svc-next-key") };
  };
  return { ...opened, ...opened.sandbox, ids, page };
}

describe("added SIMs", () => {
  test("SIMs added by count follow the seed and are listed last", async () => {
    const { fleet, call, update } = await setup(3);
    const added = fleet.add(2);
    const { json } = await (await setup(5)).call("GET", "/v1/sims");
    expect((await call("GET", "/v1/sims")).json).toEqual(json);
    expect(added).toEqual(json.slice(3).map(({ simId }: Shown) => simId));
    expect((await update(4, "s1.slow")).json).toMatchObject({ simId: added[1], speedClass: "s1.slow" });
  });
});

describe("removed SIMs", () => {
  test("a removed SIM is not listed and calls on it return 404", async () => {
    const { ids, state, fleet, page, call, update } = await setup(4);
    const [a, b = "", c] = ids;
    await update(1, "s1.fast");
    fleet.remove([b, state.sims.imsiAt(3)]);
    expect((await page()).simIds).toEqual([a, c]);
    expect(await update(1)).toMatchObject({ status: 404, json: { code: "SIM0001" } });
    const earlier = `/v1/subscribers/${state.sims.imsiAt(1)}/update_speed_class`;
    expect((await call("POST", earlier, { body: { speedClass: "s1.slow" } })).status).toBe(404);
    expect((await call("GET", "/v1/subscribers")).json).toHaveLength(2);
    expect(ids.map((id) => state.isListed(id))).toEqual([true, false, true, false]);
    expect([state.acceptedChanges(b), state.speedClassOf(b)]).toEqual([1, "s1.fast"]);
    expect(state.sims.count).toBe(2);
  });
});

describe("a list that is paged while the fleet changes", () => {
  test("paging through a changing fleet lists each remaining SIM once and no removed SIM", async () => {
    const { ids, fleet, page } = await setup(8);
    const first = await page({ limit: 3 });
    fleet.change({ remove: [ids[0] ?? "", ids[3] ?? "", ids[4] ?? ""], addIds: ["sim-new"] });
    const second = await page({ limit: 3, key: first.next });
    fleet.change({ restore: [ids[3] ?? ""] });
    const third = await page({ limit: 3, key: second.next });
    expect([first.simIds, second.simIds, third.simIds]).toEqual([
      ids.slice(0, 3),
      [ids[5], ids[6], ids[7]],
      ["sim-new"],
    ]);
    expect(third.next).toBeNull();
  });
});

describe("edited SIMs", () => {
  test("an edited SIM shows its new fields and edit time everywhere, and the edit does not count as a change", async () => {
    const { ids, state, fleet, clock, call, update } = await setup(3);
    const [, simId = ""] = ids;
    const before = state.recordOf(simId);
    clock.pass(5_000);
    const set = { status: "inactive", groupId: null, tags: { site: "x" }, sessionStatus: { online: true, cell: 7 } };
    fleet.edit(simId, { ...set, speedClass: "s1.8xfast" });
    const expected = { ...before, ...set, speedClass: "s1.8xfast", lastModifiedTime: clock.wallMs() };
    expect((await call("GET", "/v1/sims")).json[1]).toEqual(expected);
    expect((await call("GET", "/v1/subscribers")).json[1]).toMatchObject({ ...set, iccid: simId });
    expect(state.acceptedChanges(simId)).toBe(0);
    expect((await update(1, "s1.slow")).json).toMatchObject({ ...set, speedClass: "s1.slow" });
    expect(state.acceptedChanges(simId)).toBe(1);
  });
});

describe("fleet changes over HTTP", () => {
  test("a fleet change can combine additions, removals, and edits, and returns the state and the added ids", async () => {
    const { ids, state, send } = await setup(3);
    const body = {
      add: 1,
      addIds: ["sim-new"],
      remove: [ids[0]],
      edit: [{ id: "sim-new", set: { status: "standby" } }],
    };
    const { status, json } = await send("POST", "/_sandbox/fleet", { body });
    expect(status).toBe(200);
    expect(json).toMatchObject({ sims: 4, added: [state.sims.simIdAt(3), "sim-new"] });
    expect(state.recordOf("sim-new")).toMatchObject({ status: "standby" });
  });

  test("a fleet change can restore a SIM and remove another", async () => {
    const { ids, send } = await setup(3);
    const [a, b] = ids;
    await send("POST", "/_sandbox/fleet", { body: { remove: [a] } });
    const back = await send("POST", "/_sandbox/fleet", { body: { restore: [a], remove: [b] } });
    expect(back.json).toMatchObject({ sims: 2, added: [] });
    expect((await send("GET", `/_sandbox/sims/${a}`)).json).toMatchObject({ isListed: true });
    expect((await send("GET", `/_sandbox/sims/${b}`)).json).toMatchObject({ isListed: false, record: { simId: b } });
  });
});
