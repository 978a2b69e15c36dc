import { listSims, type SimCall } from "#api/operations/sims.ts";
import { describe, expect, it } from "vitest";
import { authOperation } from "#api/operations/auth.ts";
import { catalogue } from "#api/operations/catalogue.ts";
import { createCredential } from "#api/operations/credentials.ts";
import { bucketOf, type Operation, targetOf } from "#api/operations/operation.ts";
import { updateSimSpeedClass } from "../../support/speed-class.ts";
import { hostileIds } from "./hostile-ids.ts";

describe("the operation catalog", () => {
  it("the four SIM operations share one bucket, and authentication uses the bucket of its address", () => {
    const buckets = catalogue.filter((o) => /sims|subscribers/.test(o.path)).map((o) => bucketOf(o, "a"));
    expect(buckets).toEqual(["a.Sim", "a.Sim", "a.Sim", "a.Sim"]);
    expect(bucketOf(authOperation, "a")).toBe("ip.here.Auth-auth");
    expect(bucketOf(authOperation, "a", "host-1")).toBe("ip.host-1.Auth-auth");
    expect(bucketOf(createCredential, "a")).toBe("a.Credential");
  });
});

describe("call paths", () => {
  it("the check of the final path rejects hostile ids even when an allow-list fails", () => {
    const open: Operation<SimCall, unknown> = {
      ...updateSimSpeedClass,
      parameters: [{ name: "simId", isAllowed: () => true, of: (input) => input.key }],
    };
    for (const key of hostileIds.filter((id) => id !== "")) {
      if (key === "..;") continue; // one plain segment, which leads nowhere else
      expect(() => targetOf(open, { key, inputs: ["x"] }), key).toThrow(/cannot be a simId/);
    }
  });

  it("the path of a call encodes its query and omits missing values", () => {
    expect(targetOf(listSims, {}).path).toBe("/v1/sims");
    expect(targetOf(listSims, { limit: 100, lastEvaluatedKey: "a b&c=/?#é" }).path).toBe(
      "/v1/sims?limit=100&last_evaluated_key=a%20b%26c%3D%2F%3F%23%C3%A9",
    );
  });
});

describe("call bodies", () => {
  it("a SIM keeps its unknown fields except those that would change a prototype", () => {
    const body: unknown = JSON.parse('[{"simId":"1","imsi":null,"tags":{"site":"x"},"__proto__":{"polluted":1}}]');
    const [sim] = listSims.output.safeParse(body).data ?? [];
    expect(sim).toEqual({ simId: "1", imsi: null, tags: { site: "x" } });
    expect((sim as { polluted?: unknown }).polluted).toBeUndefined();
  });
});
