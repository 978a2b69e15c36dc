import { describe, expect, test } from "vitest";
import { openSandbox } from "./open-sandbox.ts";

describe("the shape svc", () => {
  test("has imsi, msisdn and subscription at the top, and no profiles", async () => {
    const { call } = await openSandbox();
    const { json } = await call("GET", "/v1/sims");
    expect(json[0]).toMatchObject({ imsi: expect.any(String), msisdn: expect.any(String) });
    expect(json[0]).not.toHaveProperty("profiles");
    const subscriptions = json.map(({ subscription }: { subscription: string }) => subscription);
    expect(new Set(subscriptions)).toEqual(new Set(["plan01s", "plan-US"]));
  });
});

describe("the shape soracom", () => {
  test("has them under profiles alone, next to a secret of each SIM's own", async () => {
    const { call, sandbox } = await openSandbox({ records: "soracom" });
    const { json } = await call("GET", "/v1/sims");
    const plain = (await (await openSandbox()).call("GET", "/v1/sims")).json;
    const keys = new Set<string>();
    for (const [place, { profiles, ...record }] of json.entries()) {
      const { imsi, msisdn, subscription, ...others } = plain[place];
      expect(record).toEqual(others);
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

  test("is that of an updated record too, and the same for the same seed", async () => {
    const { call, update, sandbox, clock } = await openSandbox({ records: "soracom" });
    clock.pass(1_500);
    const { json } = await update(5, "s1.slow");
    expect(json).toEqual((await call("GET", "/v1/sims")).json[5]);
    expect(json).toEqual(sandbox.state.recordOf(sandbox.state.sims.imsiAt(5)));
    expect(json).toMatchObject({ speedClass: "s1.slow", lastModifiedTime: clock.wallMs() });
    const again = await openSandbox({ records: "soracom" });
    expect((await again.call("GET", "/v1/sims")).json[5].profiles).toEqual(json.profiles);
  });

  test("shows edits where a field lies", async () => {
    const { call, sandbox } = await openSandbox({ records: "soracom", simIds: ["sim-a"] });
    sandbox.fleet.edit("sim-a", { status: "standby", subscription: "plan-KM1", tags: { note: 'a "b"' } });
    const [record] = (await call("GET", "/v1/sims")).json;
    const imsi = sandbox.state.sims.imsiAt(0);
    expect(record).toMatchObject({ status: "standby", tags: { note: 'a "b"' } });
    expect(record).not.toHaveProperty("subscription");
    expect(record.profiles["sim-a"].subscribers[imsi]).toMatchObject({ status: "standby", subscription: "plan-KM1" });
  });

  test("leaves the records of the earlier wording as they are", async () => {
    const imsis = async (records: "svc" | "soracom") => (await openSandbox({ records })).call("GET", "/v1/subscribers");
    expect((await imsis("soracom")).text).toBe((await imsis("svc")).text);
  });
});
