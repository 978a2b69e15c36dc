import { describe, expect, it, test } from "vitest";
import { type InputField, readInput, typedValue } from "#fleet/sim-operation/input.ts";
import {
  changesOf,
  operationFor,
  previousColumns,
  setSpeedClass,
  shownInputs,
  type SimOperation,
  simChangeOf,
  subjectOf,
} from "#fleet/sim-operation/sim-operation.ts";
import { fillJson, fillText } from "#fleet/sim-operation/template.ts";

const putTag: SimOperation = {
  ...setSpeedClass,
  name: "put-tag",
  inputs: [
    { name: "tagName", type: "text", isRequired: true },
    { name: "tagValue", type: "text", isRequired: false },
  ],
  sets: { "tags.{tagName}": "{tagValue}" },
};

function input(type: InputField["type"], more: Partial<InputField> = {}): InputField {
  return { name: "it", type, isRequired: true, ...more };
}

describe("SIM operation templates", () => {
  const values: Readonly<Record<string, string>> = { a: "1", b: "x y" };
  const valueOf = (name: string): string | undefined => values[name];

  it("a template is filled only when every placeholder has a value", () => {
    expect(fillText("{a}-{b}", valueOf)).toBe("1-x y");
    expect(fillText("{a}-{c}", valueOf)).toBeUndefined();
    expect(fillText("{} {1} plain", valueOf)).toBe("{} {1} plain");
  });

  it("a placeholder that is an entire JSON value keeps the type of its input", () => {
    const typed = (name: string) => (name === "a" ? 1 : valueOf(name));
    expect(fillJson([{ n: "{a}", t: "{a}!", k: [true, null, "{b}"] }], valueOf, typed)).toEqual([
      { n: 1, t: "1!", k: [true, null, "x y"] },
    ]);
  });

  it("members and items without a value are omitted from JSON", () => {
    expect(fillJson({ c: "{c}", list: ["{c}", "{a}"] }, valueOf, valueOf)).toEqual({ list: ["1"] });
  });
});

describe("input values", () => {
  test.each<[InputField, string, string | undefined]>([
    [input("text"), "any text", "any text"],
    [input("text"), "two\nlines", "two\nlines"],
    [input("text"), "a\u0007b", undefined],
    [input("text", { pattern: "^[a-z]+$" }), "abc", "abc"],
    [input("text", { pattern: "[a-z]+" }), "abc1", undefined],
    [input("text", { values: ["up", "down"] }), "Up", undefined],
    [input("text", { maxLength: 3 }), "abcd", undefined],
    [input("integer"), "-12", "-12"],
    [input("integer"), "1.5", undefined],
    [input("integer"), "007", undefined],
    [input("integer"), "9007199254740993", undefined],
    [input("boolean"), "TRUE", "true"],
    [input("boolean"), "yes", undefined],
    [input("time"), "2027-01-31T09:00:00+09:00", "1801353600000"],
    [input("time"), "1801353600000", "1801353600000"],
    [input("time"), "2027-01-31T09:00:00", undefined],
    [input("time"), "2027-02-31T09:00:00Z", undefined],
    [input("time"), "20270131", "1801353600000"],
    [input("time"), "20270231", undefined],
    [input("list"), " a ; b;", '["a","b"]'],
    [input("list"), '["a","b"]', '["a","b"]'],
    [input("list"), "[1]", undefined],
    [input("list", { pattern: "[a-z]" }), "a;bb", undefined],
  ])("the input %j reads %j as %j", (field, text, value) => {
    expect(readInput(field, text)).toBe(value);
  });

  it("an empty value is missing for a required input and empty for an optional one", () => {
    expect(readInput(input("text"), "")).toBeUndefined();
    expect(readInput(input("text", { isRequired: false }), "")).toBe("");
  });

  it("an input value has its type in a request", () => {
    expect(typedValue(input("integer"), "5")).toBe(5);
    expect(typedValue(input("boolean"), "false")).toBe(false);
    expect(typedValue(input("time"), "1801353600000")).toBe(1_801_353_600_000);
    expect(typedValue(input("list"), '["a"]')).toEqual(["a"]);
    expect(typedValue(input("text"), "5")).toBe("5");
  });
});

describe("SIM operations", () => {
  it("a SIM operation reports its changes, including fields whose name is an input", () => {
    expect(changesOf(putTag, "1", ["site", "berlin"])).toEqual([["tags.site", "berlin"]]);
    const removing = { ...putTag, sets: { groupId: null, on: true } };
    const change = [...simChangeOf(removing, changesOf(removing, "1", []))];
    expect(change).toEqual([
      ["groupId", null],
      ["on", { json: "true" }],
    ]);
  });

  it("rows of a SIM operation conflict only on the same member of a field", () => {
    expect(subjectOf(setSpeedClass, "1", ["s1.fast"])).toBe("1");
    expect(subjectOf(putTag, "1", ["a b", "x"])).toBe("1 tags.a%20b");
    expect(subjectOf(putTag, "1", ["a", "x"])).not.toBe(subjectOf(putTag, "1", ["b", "x"]));
  });

  it("a SIM operation names a column for each previous value", () => {
    expect(previousColumns(setSpeedClass)).toEqual(["previousSpeedClass"]);
    expect(previousColumns({ sets: { groupId: "x", "imeiLock.imei": "y", "tags.{tagName}": "z" } })).toEqual([
      "previousGroupId",
      "previousImeiLockImei",
      "previousTags",
    ]);
  });

  it("a SIM operation does not show secret inputs", () => {
    const [first] = putTag.inputs;
    const secret = { ...putTag, inputs: [{ ...first, isSecret: true } as InputField, ...putTag.inputs.slice(1)] };
    expect(shownInputs(secret, ["hidden", "shown"])).toEqual({ tagValue: "shown" });
  });

  it("a SIM operation reads the other id of a SIM from the inventory and its key from the API wording", () => {
    const bundles = { ...putTag, path: "/v1/subscribers/{imsi}/bundles", keyColumn: "imsi" } as const;
    expect(operationFor(bundles, "sims")).toMatchObject({
      keyColumn: "simId",
      inputs: [{}, {}, { name: "imsi", inventoryField: "imsi" }],
    });
    expect(operationFor(bundles, "subscribers")).toMatchObject({ keyColumn: "imsi", inputs: [{}, {}] });
    expect(operationFor(setSpeedClass, "subscribers").path).toBe("/v1/subscribers/{imsi}/update_speed_class");
  });
});
