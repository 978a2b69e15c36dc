/** Every operation of the platform definition soracom, run with its example file against the sandbox. */
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { loadDeployment } from "#config/deployment.ts";
import { operationFor } from "#fleet/sim-operation/sim-operation.ts";
import { reportOfOperation } from "#jobs/operations/endpoints.ts";
import type { RunReport } from "#jobs/runs/contract.ts";
import { workerOfFile } from "./support/run-requests.ts";

const simIds = ["8942310022000012345", "8942310022000012352"];
const groupId = "11111111-2222-3333-4444-555555555555";
const { simOperations } = loadDeployment("soracom", []);
const operations = [...simOperations.values()].map((operation) => reportOfOperation(operationFor(operation, "sims")));

/** What the SIMs have to be like before an operation; they are active and online otherwise. */
const prepared: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  "unset-group": { groupId },
  "delete-tag": { tags: { site: "osaka" } },
  activate: { status: "inactive" },
  "disable-termination": { terminationEnabled: true },
  terminate: { terminationEnabled: true },
  "lock-to-current-imei": { sessionStatus: { online: true, imei: "350000000000002" } },
  "delete-session": { sessionStatus: { online: true, imei: "350000000000002" } },
  "unset-expiry": { expiryTime: 1_950_000_000_000, expiryAction: "doNothing" },
  "unset-imei-lock": { imeiLock: { imei: "350000000000002" } },
};
const usual = {
  status: "active",
  groupId: null,
  tags: {},
  terminationEnabled: false,
  speedClass: "s1.slow",
  expiryTime: null,
  expiryAction: null,
  imeiLock: null,
};

const { requests } = await workerOfFile({
  sandbox: { simIds, sims: simIds.length, groups: [{ groupId }], limits: { Sim: 1e4, Subscriber: 1e3 } },
});

describe.each(operations.map((operation) => [operation.name, operation] as const))("%s", (name, operation) => {
  test("a SIM operation has an example file with its columns", () => {
    expect(readFileSync(`examples/operations/${name}.csv`, "utf8").trimEnd().split("\n")).toEqual(operation.example);
  });

  test("a SIM operation executes its example file", async () => {
    await requests.become({ ...usual, ...prepared[name] }, [0, 1]);
    const file = readFileSync(`examples/operations/${name}.csv`, "utf8");
    const plan = await requests.plan(`operation=${name}`, file);
    expect(plan).toMatchObject({ operation: name, calls: 2, problems: [], hasUndo: operation.undo.length > 0 });
    expect(plan.costly).toBe(operation.danger === "costly" && operation.costlyWhen === null ? 2 : 0);
    const confirm = operation.danger === "irreversible" ? "&confirm=2" : "";
    const { runId } = await requests.complete(`operation=${name}${confirm}`, file);
    const rows = await doneRows(runId);
    for (const [i, { changes }] of rows.entries()) {
      const sim = await requests.ask<Record<string, unknown>>(`/v1/sims/${simIds[i]}`);
      for (const { field, after } of changes) expect(valueAt(sim, field), field).toBe(after);
    }
    if (operation.undo.length > 0) await undo(runId);
  });
});

/** The rows of a run, all of which are done. */
async function doneRows(runId: string): ReturnType<typeof requests.rowsOf> {
  const rows = await requests.rowsOf(runId);
  expect(rows.map(({ outcome, reason }) => [outcome, reason])).toEqual([
    ["done", ""],
    ["done", ""],
  ]);
  return rows;
}

/** An undo brings back what was there before. */
async function undo(runId: string): Promise<void> {
  const rows = await requests.rowsOf(runId);
  const { runId: undoId } = await requests.ask<RunReport>(`/v1/runs/${runId}/undo`, { method: "POST" });
  await requests.ended(undoId);
  await doneRows(undoId);
  for (const { key, changes } of rows) {
    const sim = await requests.ask<Record<string, unknown>>(`/v1/sims/${key}`);
    for (const { field, before } of changes) expect(valueAt(sim, field), field).toBe(before);
  }
}

test("every example file belongs to an operation", () => {
  const names = readdirSync("examples/operations").map((file) => file.replace(".csv", ""));
  expect(names.toSorted()).toEqual(operations.map(({ name }) => name).toSorted());
});

/** The value of `tags.site` in a document, as text; null if there is none. */
function valueAt(sim: Readonly<Record<string, unknown>>, field: string): string | null {
  const [outer = "", ...inner] = field.split(".");
  const value = sim[outer];
  const found = inner.length === 0 ? value : (value as Record<string, unknown> | null | undefined)?.[inner.join(".")];
  return found === undefined || found === null ? null : typeof found === "string" ? found : JSON.stringify(found);
}
