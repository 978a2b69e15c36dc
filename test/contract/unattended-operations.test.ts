/** An operation that nobody attends: an automation that leaves out SIMs that are not allowed. */
import { automations } from "#jobs/automations/feature.ts";
import type { RunReport } from "#jobs/runs/contract.ts";
import { expect, test } from "vitest";
import { until } from "../support/until.ts";
import { tagOperation, workerOfFile } from "./support/run-requests.ts";

const { harness, requests } = await workerOfFile({
  operations: { "greet-active": tagOperation("word", { requires: "status=active" }) },
  lines: `automations:
  greet: { on: sim.changed, where: "event.field=groupId and not (event.field^=tags or event.after<5)", job: apply, operation: greet-active, set: { word: hello } }
`,
});
await harness.app.work(["default"], [automations]);

/** The run that the automation has started, once it is over. */
async function greeting(): Promise<RunReport> {
  const found = async () => (await harness.runs.list({ limit: 10 })).runs.filter(({ name }) => name === "greet");
  await until("the automation has started a run", async () => (await found()).length > 0);
  return requests.ended((await found())[0]?.runId ?? "");
}

test("an automation changes the SIMs that are allowed, and reports the others as rejected", async () => {
  await requests.become({ status: "active", groupId: null }, [0]);
  await requests.become({ status: "inactive", groupId: null }, [1]);
  // Both changes are found by one sync, and become one run.
  await requests.become({ groupId: harness.sandbox.state.groups.all[0]?.groupId }, [0, 1]);
  const report = await greeting();
  expect(report).toMatchObject({ submittedBy: "automation:greet", operation: "greet-active" });
  expect(report.counts).toMatchObject({ total: 2, done: 1, rejected: 1 });
  const rows = await requests.rowsOf(report.runId);
  const rowOf = (place: number) => rows.find(({ key }) => key === harness.simId(place));
  expect(rowOf(0)).toMatchObject({ outcome: "done" });
  const reason = "The SIM has status=inactive; the operation requires status=active. Do activate first.";
  expect(rowOf(1)).toMatchObject({ outcome: "rejected", attempts: 0, reason });
});
