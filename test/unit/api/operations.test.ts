import type { SimCall } from "#api/operations/sim-operation.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { authOperation } from "#api/operations/auth.ts";
import { catalogue } from "#api/operations/catalogue.ts";
import { createCredential } from "#api/operations/credentials.ts";
import { bucketOf, type Operation, targetOf } from "#api/operations/operation.ts";
import { listSims, listSubscribers } from "#api/operations/sims.ts";
import { updateSimSpeedClass, updateSubscriberSpeedClass } from "../../support/speed-class.ts";
import { SimfleetError } from "#core/errors.ts";
import { Secret } from "#core/secret.ts";
import { anyId, hostileIds } from "./hostile-ids.ts";
import { seeds } from "../../support/long.ts";

describe("the operation catalog", () => {
  it("the catalog contains each operation exactly once and complete", () => {
    expect(new Set(catalogue.map((o) => o.path + o.method)).size).toBe(catalogue.length);
    for (const operation of catalogue) {
      expect(operation.path).toMatch(/^\/v1(\/[a-z_]+|\/\{[A-Za-z]+\})+$/);
      const marks = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      expect(operation.parameters?.map(({ name }) => name) ?? [], operation.id).toEqual(marks);
      expect(operation.successStatuses.length).toBeGreaterThan(0);
      expect(operation.body !== undefined, operation.id).toBe(operation.method === "POST");
      expect(bucketOf(operation, "default")).toMatch(/^[A-Za-z0-9._-]+$/);
    }
  });

  it("the four SIM operations share one bucket, and authentication uses the bucket of its address", () => {
    const buckets = catalogue.filter((o) => /sims|subscribers/.test(o.path)).map((o) => bucketOf(o, "a"));
    expect(buckets).toEqual(["a.Sim", "a.Sim", "a.Sim", "a.Sim"]);
    expect(bucketOf(authOperation, "a")).toBe("ip.here.Auth-auth");
    expect(bucketOf(authOperation, "a", "host-1")).toBe("ip.host-1.Auth-auth");
    expect(bucketOf(createCredential, "a")).toBe("a.Credential");
  });

  it("each API wording has its own list operation", () => {
    expect(listSims.path).toBe("/v1/sims");
    expect(listSubscribers.path).toBe("/v1/subscribers");
  });
});

describe("call paths", () => {
  const withId: [Operation<never, unknown>, (id: string) => unknown, RegExp][] = [
    [
      updateSimSpeedClass,
      (key) => ({ key, inputs: ["s1.fast"] }),
      /^\/v1\/sims\/[A-Za-z0-9_-]{1,64}\/update_speed_class$/,
    ],
    [
      updateSubscriberSpeedClass,
      (key) => ({ key, inputs: ["s1.fast"] }),
      /^\/v1\/subscribers\/[0-9]{5,15}\/update_speed_class$/,
    ],
    [
      createCredential,
      (credentialsId) => ({ credentialsId, type: "psk", credentials: {} }),
      /^\/v1\/credentials\/[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/,
    ],
  ];

  function pathOf(operation: Operation<never, unknown>, input: unknown): string | undefined {
    try {
      return targetOf(operation, input as never).path;
    } catch (thrown) {
      expect(thrown).toBeInstanceOf(SimfleetError);
      expect((thrown as SimfleetError).code).toBe("PLATFORM_REJECTED");
      return undefined;
    }
  }

  // Shows S5.
  it("the path of a call never leaves its template for random ids", () => {
    fc.assert(
      fc.property(anyId, (text) => {
        for (const [operation, input, shape] of withId) {
          const path = pathOf(operation, input(text));
          if (path === undefined) continue;
          expect(path).toMatch(shape);
          expect(new URL(path, "https://h.example").href).toBe(`https://h.example${path}`);
        }
      }),
      { numRuns: seeds(1_000, 10_000) },
    );
  });

  it("the path of a call rejects each hostile id and accepts valid ones", () => {
    for (const [operation, input] of withId) {
      for (const id of hostileIds) expect(pathOf(operation, input(id)), id).toBeUndefined();
    }
    expect(targetOf(updateSimSpeedClass, { key: "8942310022000012345", inputs: ["s1.fast"] })).toEqual({
      path: "/v1/sims/8942310022000012345/update_speed_class",
      body: '{"speedClass":"s1.fast"}',
    });
  });

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
  it("the body of authentication is one of three variants", () => {
    const password = new Secret("pw");
    const bodyOf = (form: Parameters<NonNullable<typeof authOperation.body>>[0]): unknown => authOperation.body?.(form);
    expect(bodyOf({ form: { kind: "auth-key", authKeyId: "k", authKey: new Secret("s") } })).toEqual({
      authKeyId: "k",
      authKey: "s",
    });
    expect(bodyOf({ form: { kind: "root", email: "a@b.example", password }, oneTimeCode: "123456" })).toEqual({
      email: "a@b.example",
      password: "pw",
      mfaOTPCode: "123456",
    });
    expect(
      bodyOf({
        form: { kind: "sub-user", operatorId: "OP1", userName: "u", password },
        ttl: { field: "ttl", seconds: 180 },
      }),
    ).toEqual({ operatorId: "OP1", userName: "u", password: "pw", ttl: 180 });
  });

  it("the body of a Credential Set reveals its secrets only in the request, and returned ones are dropped", () => {
    const input = {
      credentialsId: "mqtt-1",
      type: "psk",
      description: "d",
      credentials: { key: new Secret("psk-value") },
    };
    expect(JSON.stringify(input)).not.toContain("psk-value");
    expect(targetOf(createCredential, input).body).toBe(
      '{"description":"d","type":"psk","credentials":{"key":"psk-value"}}',
    );
    const record = {
      credentialsId: "mqtt-1",
      type: "psk",
      credentials: { key: "psk-value" },
      createDateTime: 1_700_000_000,
    };
    expect(createCredential.output.parse(record)).toEqual({
      credentialsId: "mqtt-1",
      description: undefined,
      type: "psk",
      createdAtMs: 1_700_000_000_000,
      updatedAtMs: undefined,
      lastUsedAtMs: undefined,
    });
  });

  it("a SIM keeps its unknown fields except those that would change a prototype", () => {
    const body: unknown = JSON.parse('[{"simId":"1","imsi":null,"tags":{"site":"x"},"__proto__":{"polluted":1}}]');
    const [sim] = listSims.output.parse(body);
    expect(sim).toEqual({ simId: "1", imsi: null, tags: { site: "x" } });
    expect((sim as { polluted?: unknown }).polluted).toBeUndefined();
  });
});
