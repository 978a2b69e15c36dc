import { expect, it } from "vitest";
import { emptyForm, faultsOf, queryOf } from "../../../web/src/pure/runs/plan-options.ts";
import { orderQuery } from "#jobs/runs/contract.ts";

const full = {
  name: " monthly ",
  operation: "set-group",
  texts: { groupId: "g-1" },
  partial: true,
  skipUnchanged: false,
  maxFailures: "2.5 %",
  waves: " 20,100% ",
  soak: "10m",
  gate: "status=active >= 95%",
  rate: "60",
};

it("the form of a new run omits options left empty", () => {
  expect(queryOf(emptyForm, "default")).toEqual({ profile: "default" });
});

it("the form of a new run produces the query that the plan route accepts", () => {
  expect(faultsOf(full)).toEqual({});
  expect(orderQuery.parse(queryOf(full, "default"))).toEqual({
    profile: "default",
    name: "monthly",
    partial: "true",
    skipUnchanged: "false",
    maxFailures: "2.5%",
    waves: "20,100%",
    soak: "10m",
    gate: "status=active >= 95%",
    rate: 60,
  });
});

it.each([
  ["waves", "20"],
  ["waves", "20,5%"],
  ["rate", "1.5"],
  ["rate", "-1"],
  ["maxFailures", "5 rows"],
  ["maxFailures", "%"],
] as const)("the form of a new run rejects values that the plan route rejects: %s %s", (field, value) => {
  const form = { ...emptyForm, [field]: value };
  expect(Object.keys(faultsOf(form))).toEqual([field]);
  expect(orderQuery.safeParse(queryOf(form, "default")).success).toBe(false);
});
