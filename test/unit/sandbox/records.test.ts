import { describe, expect, test } from "vitest";
import { openSandbox } from "./open-sandbox.ts";
import { publicRecord } from "./public-record.ts";

describe("the record shape svc", () => {
  test("svc records have imsi, msisdn, and subscription at the top level and no profiles", async () => {
    const { call } = await openSandbox();
    const { json } = await call("GET", "/v1/sims");
    expect(json[0]).toMatchObject({ imsi: expect.any(String), msisdn: expect.any(String) });
    expect(json[0]).not.toHaveProperty("profiles");
    const subscriptions = json.map(({ subscription }: { subscription: string }) => subscription);
    expect(new Set(subscriptions)).toEqual(new Set(["plan01s", "plan-US"]));
  });
});

describe("the record shape soracom", () => {
  test("soracom records keep subscriber fields under profiles and have a distinct secret per SIM", async () => {
    const { call, sandbox } = await openSandbox({ records: "soracom" });
    const { json } = await call("GET", "/v1/sims");
    const plain = (await (await openSandbox()).call("GET", "/v1/sims")).json;
    const keys = new Set<string>();
    for (const [place, { profiles, ...record }] of json.entries()) {
      const { imsi, msisdn, subscription, status: plainStatus, speedClass, tags } = plain[place];
      expect(record).toMatchObject({ simId: plain[place].simId, status: plainStatus, speedClass, tags });
      expect(record.groupId).toBe(plain[place].groupId ?? undefined);
      for (const field of ["imsi", "msisdn", "subscription"]) expect(record).not.toHaveProperty(field);
      const { arcClientPeerPrivateKey, ...profile } = profiles[record.simId];
      expect(profile).toEqual({
        iccid: record.simId,
        primaryImsi: sandbox.state.sims.imsiAt(place),
        subscribers: { [imsi]: { imsi, msisdn, subscription, status: record.status } },
      });
      expect(Buffer.from(arcClientPeerPrivateKey, "base64")).toHaveLength(32);
      keys.add(arcClientPeerPrivateKey);
    }
    expect(keys.size).toBe(100);
  });

  test("all 400 soracom records match the public definition, including edited and changed ones", async () => {
    const { call, sandbox } = await openSandbox({ records: "soracom", sims: 400 });
    const simId = (place: number): string => sandbox.state.sims.simIdAt(place);
    sandbox.fleet.edit(simId(1), { groupId: null, tags: {}, expiryAction: null, imeiLock: null });
    sandbox.fleet.edit(simId(2), { expiryTime: 1_800_000_000_000, expiryAction: "deactivate", status: "terminated" });
    sandbox.fleet.edit(simId(3), { imeiLock: { imei: "350000000000001" }, groupId: "g-1" });
    const records = (await call("GET", "/v1/sims?limit=400")).json as unknown[];
    expect(records).toHaveLength(400);
    const faults = records.flatMap((record) => publicRecord.safeParse(record).error?.issues ?? []);
    expect(faults).toEqual([]);
    const types = records.map((record) => publicRecord.parse(record).type);
    expect(new Set(types)).toEqual(new Set(["euicc", "uicc", "virtual"]));
    expect(records.some((record) => publicRecord.parse(record).groupId === undefined)).toBe(true);
  });

  test("soracom records cover every public field, and most SIMs of the fleet are active and none are terminated", async () => {
    const { call, sandbox, clock } = await openSandbox({ records: "soracom", sims: 400, operations: "all" });
    const simId = sandbox.state.sims.simIdAt(0);
    await call("POST", `/v1/sims/${simId}/report_local_info`);
    clock.pass(60_000);
    const records = ((await call("GET", "/v1/sims?limit=400")).json as unknown[]).map((it) => publicRecord.parse(it));
    const fields = new Set(records.flatMap((record) => Object.keys(record)));
    expect(fields).toEqual(new Set(Object.keys(publicRecord.shape)));
    const shareOf = (wanted: string) => records.filter((record) => record.status === wanted).length / 400;
    expect(shareOf("active")).toBeGreaterThan(0.5);
    for (const some of ["ready", "inactive", "standby", "suspended"]) expect(shareOf(some), some).toBeGreaterThan(0);
    expect(shareOf("terminated")).toBe(0);
  });

  test("an edit of a soracom record changes the field where it is nested", async () => {
    const { call, sandbox } = await openSandbox({ records: "soracom", simIds: ["sim-a"] });
    sandbox.fleet.edit("sim-a", { status: "standby", subscription: "plan-KM1", tags: { note: 'a "b"' } });
    const [record] = (await call("GET", "/v1/sims")).json;
    const imsi = sandbox.state.sims.imsiAt(0);
    expect(record).toMatchObject({ status: "standby", tags: { note: 'a "b"' } });
    expect(record).not.toHaveProperty("subscription");
    expect(record.profiles["sim-a"].subscribers[imsi]).toMatchObject({ status: "standby", subscription: "plan-KM1" });
  });

  test("records of the earlier API wording are the same in both shapes", async () => {
    const imsis = async (records: "svc" | "soracom") => (await openSandbox({ records })).call("GET", "/v1/subscribers");
    expect((await imsis("soracom")).text).toBe((await imsis("svc")).text);
  });
});
