import { describe, expect, test } from "vitest";
import { withLuhnDigit } from "#sandbox/sims/sim-records.ts";
import { openSandbox } from "./open-sandbox.ts";

describe("SIM records", () => {
  test("SIM records have ids with a check digit, a unique IMSI, and extra fields", async () => {
    const { call } = await openSandbox({ sims: 500 });
    const { json } = await call("GET", "/v1/sims?limit=500");
    expect(json).toHaveLength(500);
    expect(withLuhnDigit("7992739871")).toBe("79927398713");
    for (const { simId, imsi } of json) {
      expect(simId).toMatch(/^[0-9]{19}$/);
      expect(withLuhnDigit(simId.slice(0, -1))).toBe(simId);
      expect(imsi).toMatch(/^[0-9]{15}$/);
    }
    expect(new Set(json.map(({ simId }: { simId: string }) => simId)).size).toBe(500);
    expect(new Set(json.map(({ imsi }: { imsi: string }) => imsi)).size).toBe(500);
    expect(json[0]).toMatchObject({ status: expect.any(String), tags: { name: "sim-1" } });
    expect(new Set(json.map(({ groupId }: { groupId: string }) => groupId)).size).toBeGreaterThan(2);
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
