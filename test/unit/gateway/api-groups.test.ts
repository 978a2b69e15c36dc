import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { listGroups as makeListGroups } from "#api/operations/groups.ts";
import { loadDeployment } from "#config/deployment.ts";
import type { Problem } from "#core/errors.ts";
import { type Grouping, operationFinder, readTarget } from "#gateway/api-groups.ts";

const nothing: Grouping = { operations: {}, simOperations: new Map(), apiGroups: {} };

function quotaOf(grouping: Partial<Grouping>, method: string, path: string): unknown {
  return operationFinder({ ...nothing, ...grouping })(method, readTarget(path))?.quota;
}

describe("the API group of a path", () => {
  it("the operations of the interface are known without a platform definition", () => {
    expect(quotaOf({}, "GET", "/v1/sims?limit=10")).toEqual({ group: "Sim" });
    expect(quotaOf({}, "HEAD", "/v1/sims")).toEqual({ group: "Sim" });
    expect(quotaOf({}, "POST", "/v1/sims/8942310022000012345/update_speed_class")).toEqual({ group: "Sim" });
    expect(quotaOf({}, "POST", "/v1/auth")).toEqual({ perIp: expect.any(String) });
  });

  it("a path or a method that no rule knows is counted by its first segment", () => {
    expect(quotaOf({}, "GET", "/v1/sims/1/events")).toEqual({ group: "/sims" });
    expect(quotaOf({}, "DELETE", "/v1/sims")).toEqual({ group: "/sims" });
    expect(quotaOf({}, "GET", "/oauth/token")).toEqual({ group: "/oauth" });
    expect(quotaOf({}, "GET", "/v1")).toEqual({ group: "/other" });
    expect(quotaOf({}, "GET", "/v1/a%20b/1")).toEqual({ group: "/other" });
    const apiGroups = { "/v1/sims/*/events": "Sim" };
    expect(quotaOf({ apiGroups }, "GET", "/v1/sims/1/events/2")).toEqual({ group: "/sims" });
  });

  it("callers cannot make more than a hundred groups", () => {
    const find = operationFinder(nothing);
    const names = Array.from({ length: 300 }, (_, n) => find("GET", ["v1", `x${n}`]).id);
    expect(new Set(names).size).toBe(101);
    expect(find("GET", ["v1", "x0"]).quota).toEqual({ group: "/x0" });
  });

  it("a pattern for one method comes before one for all of them", () => {
    const apiGroups = { "/v1/coupons/**": "Payment", "POST /v1/coupons": "Order" };
    expect(quotaOf({ apiGroups }, "POST", "/v1/coupons")).toEqual({ group: "Order" });
    expect(quotaOf({ apiGroups }, "GET", "/v1/coupons")).toEqual({ group: "Payment" });
    expect(quotaOf({ apiGroups }, "POST", "/v1/coupons/1")).toEqual({ group: "Payment" });
  });

  it("the most specific pattern counts, whatever the order of the file", () => {
    const patterns = {
      "/**": "Other",
      "/v1/sims/**": "Sim",
      "/v1/sims/*/events": "Event",
      "/v1/sims/all/events": "All",
    };
    for (const entries of [Object.entries(patterns), Object.entries(patterns).toReversed()]) {
      const apiGroups = Object.fromEntries(entries);
      const groups = ["/v1/x", "/v1/sims/1/x/y", "/v1/sims/1/events", "/v1/sims/all/events"].map((path) =>
        quotaOf({ apiGroups }, "GET", path),
      );
      expect(groups).toEqual(["Other", "Sim", "Event", "All"].map((group) => ({ group })));
    }
  });

  it("a pattern of a platform definition can be counted by address", () => {
    const apiGroups = {
      "/v1/devices/**": "Device",
      "/v1/devices/*/publish": { group: "Device", quota: { perIp: true } },
      "/v1/devices/*/shadow": { group: "Device", quota: { perIp: false } },
    };
    const found = ["publish", "shadow", "other"].map((last) => quotaOf({ apiGroups }, "POST", `/v1/devices/1/${last}`));
    expect(found).toEqual([{ perIp: "Device-v1_devices_publish" }, { group: "Device" }, { group: "Device" }]);
  });

  it("an operation of a platform definition can be counted by address", () => {
    const listGroups = {
      method: "GET",
      path: "/v1/groups",
      statuses: [200],
      group: "Group",
      quota: { perIp: true },
    } as const;
    const perIp = { perIp: "Group-listGroups" };
    expect(quotaOf({ operations: { listGroups } }, "GET", "/v1/groups")).toEqual(perIp);
    expect(makeListGroups(listGroups).quota).toEqual(perIp);
  });

  it("a known operation keeps its group beside a pattern for the same path", () => {
    const apiGroups = { "/v1/sims/*/update_speed_class": "Other", "/v1/sims": "Other" };
    expect(quotaOf({ apiGroups }, "POST", "/v1/sims/1/update_speed_class")).toEqual({ group: "Sim" });
    expect(quotaOf({ apiGroups }, "PUT", "/v1/sims/1/update_speed_class")).toEqual({ group: "Other" });
  });

  it("the operations of a platform definition have the groups that it gives them, also those of a sub-user", () => {
    const problems: Problem[] = [];
    const soracom = loadDeployment("soracom", problems);
    expect(problems).toEqual([]);
    expect(quotaOf(soracom, "GET", "/v1/operators/OP1/auth_keys")).toEqual({ group: "Operator" });
    expect(quotaOf(soracom, "GET", "/v1/operators/OP1/users/me/auth_keys")).toEqual({ group: "User" });
    expect(quotaOf(soracom, "POST", "/v1/sims/1/set_group")).toEqual({ group: "Sim" });
    expect(quotaOf(soracom, "GET", "/v1/sims/1/anything")).toEqual({ group: "Sim" });
  });

  // The rest is a list of one segment each; these have rules that overlap.
  it.each([
    ["GET", "/v1/auth/1/any", "Auth"],
    ["GET", "/v1/files/1/any", "FileEntry"],
    ["GET", "/v1/files/exported/1/any", "Files"],
    ["GET", "/v1/operators/1/any", "Operator"],
    ["GET", "/v1/operators/1/users/1/roles/1/any", "Role"],
    ["GET", "/v1/operators/1/users/1/any", "User"],
    ["GET", "/v1/coupons/1/confirm/1/any", "Order"],
    ["POST", "/v1/coupons", "Order"],
    ["GET", "/v1/coupons/1/any", "Payment"],
  ])("the platform definition soracom counts %s %s in the group %s", (method, path, group) => {
    expect(quotaOf(loadDeployment("soracom", []), method, path)).toEqual({ group });
  });

  it("a call that renews a token is marked, with and without a platform definition that describes it", () => {
    const { operations } = loadDeployment("soracom", []);
    for (const grouping of [nothing, { ...nothing, operations }]) {
      const find = operationFinder(grouping);
      expect(find("POST", ["v1", "operators", "OP1", "token"]).isRenewal).toBe(true);
      expect(find("GET", ["v1", "credentials"]).isRenewal).toBeUndefined();
    }
  });
});

describe("the target of a request", () => {
  const ambiguous = [
    "http://other.example.com/v1/sims",
    "*",
    "//other.example.com/v1/sims",
    "/v1/../v2",
    "/v1/sims/..",
    "/v1/%2e%2e/x",
    "/v1/sims%2f1",
    "/v1/sims%5c1",
    "/v1/sims\\1",
    "/v1//sims",
    "/v1/sims;x=1/y",
    "/v1/%252e%252e/x",
    "/v1/%ff",
    "/v1/sims#x",
    "/v1/s ims",
    `/${"x".repeat(9_000)}`,
  ];

  // Shows S5.
  it("a path that could mean another place is refused", () => {
    for (const target of ambiguous) expect(() => readTarget(target), target).toThrow(/The path of the request/);
  });

  it("an encoded letter does not change the group of a path", () => {
    expect(quotaOf({ apiGroups: { "/**": "Other" } }, "GET", "/v1/s%69ms")).toEqual({ group: "Sim" });
  });

  function isAccepted(path: string): boolean {
    try {
      readTarget(path);
      return true;
    } catch {
      return false;
    }
  }

  // Shows S5.
  it("whatever path is accepted stays below the prefix as it is", () => {
    const characters = fc.constantFrom(..."/.%25eEfFcC;\\a?#@:*~".split(""), "%2e", "%2F", "..", "/v1/sims");
    fc.assert(
      fc.property(fc.array(characters, { maxLength: 12 }), (parts) => {
        const path = `/${parts.join("")}`;
        fc.pre(isAccepted(path));
        const url = new URL(`https://platform.example.com/prefix${path}`);
        expect(url.origin).toBe("https://platform.example.com");
        expect(url.pathname).toBe(`/prefix${path.split("?", 1)[0]}`);
      }),
      { numRuns: 2_000 },
    );
  });
});
