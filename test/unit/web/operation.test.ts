import { describe, expect, it } from "vitest";
import { setSpeedClass, type SimOperation } from "#fleet/sim-operation/sim-operation.ts";
import { orderQuery } from "#jobs/runs/order-query.ts";
import { reportOfOperation } from "#jobs/operations/report.ts";
import * as operation from "../../../web/src/pure/operation.ts";
import { operationQuery } from "../../../web/src/pure/plan-options.ts";

const described: SimOperation = {
  ...setSpeedClass,
  name: "configure",
  inputs: [
    { name: "at", type: "time", isRequired: true },
    { name: "tries", type: "integer", isRequired: false },
    { name: "note", type: "text", isRequired: false, maxLength: 5 },
    { name: "pin", type: "text", isRequired: true, isSecret: true },
    { name: "imsi", type: "text", isRequired: true, inventoryField: "imsi" },
  ],
};
const report = reportOfOperation(described);
const local = "2027-01-31T09:00";
const texts = { at: local, tries: " 3 ", note: "", pin: "1234", groupId: "of another operation" };
const set = { at: new Date(local).toISOString(), tries: "3", pin: "1234" };

describe("the values of an operation's form", () => {
  it("are sent without empty ones, and a time with its zone", () => {
    expect(operation.setOf(report, "filter", texts)).toEqual(set);
  });

  it("never have a secret in an address", () => {
    const { pin, ...others } = set;
    expect(pin).toBe("1234");
    expect(operation.setOf(report, "file", texts)).toEqual(others);
    expect(orderQuery.parse({ profile: "default", ...operationQuery("configure", others) })).toMatchObject({
      ...{ operation: "configure", "set.at": set.at, "set.tries": "3" },
    });
  });

  it("are missing where they are required and neither given nor in the inventory", () => {
    expect(operation.missingInputs(report, {})).toEqual(["at", "pin"]);
    expect(operation.missingInputs(report, texts)).toEqual([]);
    expect(operation.columnsFor(report, { at: local })).toEqual(["simId", "pin"]);
  });

  it("are refused beforehand where the server would refuse them", () => {
    const faults = operation.inputFaults(report, "filter", { ...texts, tries: "3.5", note: "too long" });
    expect(Object.keys(faults)).toEqual(["tries", "note"]);
    expect(operation.inputFaults(report, "filter", texts)).toEqual({});
  });
});

describe("what to know about an operation", () => {
  it("is nothing where it is normal and has an undo", () => {
    expect(operation.cautionsOf(reportOfOperation(setSpeedClass))).toEqual([]);
  });

  it("is its danger, its missing undo, and that a lost call is not repeated", () => {
    const { undo, ...without } = described;
    expect(undo).toBeDefined();
    const [danger, ...others] = operation.cautionsOf(
      reportOfOperation({ ...without, danger: "irreversible", repeat: "unsafe" }),
    );
    expect(danger).toContain("number of SIMs");
    expect(others).toHaveLength(2);
    const costly = reportOfOperation({ ...described, danger: "costly", costlyWhen: "status=standby" });
    expect(operation.cautionsOf(costly)).toEqual(["Calls cost money for SIMs with status=standby."]);
  });

  it("is in a plan the number of SIMs and of calls", () => {
    expect(operation.cautionsOfPlan({ costly: 0, irreversible: 0, hasUndo: true })).toEqual([]);
    expect(operation.cautionsOfPlan({ costly: 1, irreversible: 1_200, hasUndo: false })).toEqual([
      "The change of 1,200 SIMs is irreversible.",
      "1 call costs money.",
      "This run cannot be undone.",
    ]);
  });
});

describe("the typed number", () => {
  it.each(["1200", "1,200", " 1 200 "])("may be %j", (text) => expect(operation.isSameCount(text, 1_200)).toBe(true));
  it.each(["", "120", "12000", "all"])("may not be %j", (text) =>
    expect(operation.isSameCount(text, 1_200)).toBe(false),
  );
});

describe("an undo", () => {
  const [none, one, two] = [{ undo: [] }, { undo: ["a"] }, { undo: ["a", "b"] }];

  it("needs an operation that has one", () => {
    expect([undefined, none, one, two].map((of) => operation.canUndo(of))).toEqual([false, false, true, true]);
  });

  it("can be undone itself unless it has two ways", () => {
    expect([one, two].map((undone) => operation.canUndo(one, undone))).toEqual([true, false]);
  });
});
