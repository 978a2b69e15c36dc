import { describe, expect, test } from "vitest";
import { hasLuhnDigit } from "#fleet/sim/sim.ts";
import { openSandbox } from "./open-sandbox.ts";

describe("SIM records", () => {
  test("SIM records have ids with a check digit, a unique IMSI, and extra fields", async () => {
    const { call } = await openSandbox({ sims: 500 });
    const { json } = await call("GET", "/v1/sims?limit=500");
    expect(json).toHaveLength(500);
    for (const { simId, imsi } of json) {
      expect(simId).toMatch(/^[0-9]{19}$/);
      expect(hasLuhnDigit(simId)).toBe(true);
      expect(imsi).toMatch(/^[0-9]{15}$/);
    }
    expect(new Set(json.map(({ simId }: { simId: string }) => simId)).size).toBe(500);
    expect(new Set(json.map(({ imsi }: { imsi: string }) => imsi)).size).toBe(500);
    expect(json[0]).toMatchObject({ status: expect.any(String), tags: { name: "sim-1" } });
    expect(new Set(json.map(({ groupId }: { groupId: string }) => groupId)).size).toBeGreaterThan(2);
  });

  test("SIM records depend only on the seed", async () => {
    const pageOf = async (seed: number) => (await (await openSandbox({ seed })).call("GET", "/v1/sims")).text;
    expect(await pageOf(7)).toBe(await pageOf(7));
    expect(await pageOf(7)).not.toBe(await pageOf(8));
  });

  test("options can set the list of SIM ids", async () => {
    const { call, sandbox } = await openSandbox({ simIds: ["sim-a", "8942310000000000000"] });
    const { json } = await call("GET", "/v1/sims");
    expect(json.map(({ simId }: { simId: string }) => simId)).toEqual(["sim-a", "8942310000000000000"]);
    expect(sandbox.state.speedClassOf("sim-a")).toMatch(/^s1\./);
    expect(sandbox.state.speedClassOf("sim-b")).toBeUndefined();
  });

  test("a fleet of a million SIMs is searchable by SIM id and by IMSI", async () => {
    const { sandbox } = await openSandbox({ sims: 1_000_000 });
    const { sims } = sandbox.state;
    expect(sims.placeOfSimId(sims.simIdAt(999_999))).toBe(999_999);
    expect(sims.placeOfImsi(sims.imsiAt(999_999))).toBe(999_999);
    expect(sims.placeOfSimId("8942310")).toBeUndefined();
    expect(sims.placeOfImsi("29505")).toBeUndefined();
  });
});

describe("speed class updates", () => {
  test("a speed class update returns the full updated record and is counted", async () => {
    const { sandbox, update, clock } = await openSandbox();
    clock.pass(1_234);
    const { status, json } = await update(3, "s1.slow");
    expect(status).toBe(200);
    const simId = sandbox.state.sims.simIdAt(3);
    expect(json).toMatchObject({ simId, speedClass: "s1.slow", lastModifiedTime: clock.wallMs() });
    expect(json).toEqual(sandbox.state.recordOf(simId));
    await update(3, "s1.slow");
    expect(sandbox.state.speedClassOf(simId)).toBe("s1.slow");
    expect(sandbox.state.acceptedChanges(simId)).toBe(2);
    expect(sandbox.state.acceptedChanges(sandbox.state.sims.simIdAt(4))).toBe(0);
    expect(sandbox.state.totals).toMatchObject({ calls: 3, byOperation: { auth: 1, updateSimSpeedClass: 2 } });
  });

  test("a speed class update addresses the SIM by its IMSI in the earlier API wording", async () => {
    const { sandbox, call } = await openSandbox();
    const imsi = sandbox.state.sims.imsiAt(0);
    const body = { speedClass: "s1.minimum" };
    const { status, json } = await call("POST", `/v1/subscribers/${imsi}/update_speed_class`, { body });
    expect(status).toBe(200);
    expect(json).toMatchObject({ imsi, speedClass: "s1.minimum" });
    expect(json).not.toHaveProperty("simId");
    expect(sandbox.state.acceptedChanges(imsi)).toBe(1);
    expect(sandbox.state.speedClassOf(sandbox.state.sims.simIdAt(0))).toBe("s1.minimum");
  });
});
