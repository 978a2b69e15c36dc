import { describe, expect, it } from "vitest";
import { setSpeedClass, type SimOperation } from "#fleet/sim-operation/sim-operation.ts";
import { orderQuery } from "#jobs/runs/contract.ts";
import { reportOfOperation } from "#jobs/operations/endpoints.ts";
import * as operation from "../../../web/src/pure/runs/operation.ts";
import { operationQuery } from "../../../web/src/pure/runs/plan-options.ts";
import { putSelectedSims, takeSelectedSims, withColumns } from "../../../web/src/selected-sims.ts";

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

describe("the operation form", () => {
  it("the operation form sends values without empty ones, and a time with its time zone", () => {
    expect(operation.setOf(report, "filter", texts)).toEqual(set);
  });

  it("the operation form never puts a secret in a URL", () => {
    const { pin, ...others } = set;
    expect(pin).toBe("1234");
    expect(operation.setOf(report, "file", texts)).toEqual(others);
    expect(orderQuery.parse({ profile: "default", ...operationQuery("configure", others) })).toMatchObject({
      operation: "configure",
      "set.at": set.at,
      "set.tries": "3",
    });
  });

  it("secret values for selected SIMs become columns of their file", async () => {
    const { values, secrets } = operation.splitSecrets(report, operation.setOf(report, "selection", texts));
    expect(values).not.toHaveProperty("pin");
    expect(secrets).toEqual({ pin: "1234" });
    putSelectedSims(["8981", "8982"], "simId");
    const file = takeSelectedSims();
    const quoted = await withColumns(file ?? new File([], ""), { ...secrets, note: 'a "b", c' });
    expect(await quoted.text()).toBe('simId,pin,note\n8981,"1234","a ""b"", c"\n8982,"1234","a ""b"", c"\n');
    expect(await (await withColumns(file ?? new File([], ""), {})).text()).toBe("simId\n8981\n8982\n");
  });

  it("the operation form reports required inputs that are neither entered nor in the inventory", () => {
    expect(operation.missingInputs(report, {})).toEqual(["at", "pin"]);
    expect(operation.missingInputs(report, texts)).toEqual([]);
    expect(operation.columnsFor(report, { at: local })).toEqual(["simId", "pin"]);
  });

  it("the operation form rejects values that the server would reject", () => {
    const faults = operation.inputFaults(report, "filter", { ...texts, tries: "3.5", note: "too long" });
    expect(Object.keys(faults)).toEqual(["tries", "note"]);
    expect(operation.inputFaults(report, "filter", texts)).toEqual({});
  });
});

describe("operation warnings", () => {
  it("an operation warns about its danger, a missing undo, and calls that are not retried", () => {
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

  it("a plan warns about the number of affected SIMs and calls", () => {
    expect(operation.cautionsOfPlan({ costly: 0, irreversible: 0, hasUndo: true })).toEqual([]);
    expect(operation.cautionsOfPlan({ costly: 1, irreversible: 1_200, hasUndo: false })).toEqual([
      "The change of 1,200 SIMs is irreversible.",
      "1 call costs money.",
      "This run cannot be undone.",
    ]);
  });
});

describe("the typed confirmation count", () => {
  it.each(["1200", "1,200", " 1 200 "])("the confirmation count may be typed as %j", (text) =>
    expect(operation.isSameCount(text, 1_200)).toBe(true),
  );
  it.each(["", "120", "12000", "all"])("the confirmation count may not be typed as %j", (text) =>
    expect(operation.isSameCount(text, 1_200)).toBe(false),
  );
});

describe("undo in the dashboard", () => {
  const [none, one, two] = [{ undo: [] }, { undo: ["a"] }, { undo: ["a", "b"] }];

  it("undo is offered only for an operation that supports it", () => {
    expect([undefined, none, one, two].map((of) => operation.canUndo(of))).toEqual([false, false, true, true]);
  });

  it("an undo run can itself be undone unless its operation undoes in two ways", () => {
    expect([one, two].map((undone) => operation.canUndo(one, undone))).toEqual([true, false]);
  });
});
