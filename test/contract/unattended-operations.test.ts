/** An operation that nobody attends: an automation that leaves out SIMs that are not allowed. */
import { automations } from "#jobs/automations/feature.ts";
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

test("an automation changes the SIMs that are allowed, and reports the others as rejected", async () => {
  await requests.become({ status: "active", groupId: null }, [0]);
  await requests.become({ status: "inactive", groupId: null }, [1]);
  // Both changes are found by one sync, and become one run.
  await requests.become({ groupId: harness.sandbox.state.groups.all[0]?.groupId }, [0, 1]);
  const runs = async () => (await harness.runs.list({ limit: 10 })).runs.filter(({ name }) => name === "greet");
  await until("the automation has started a run", async () => (await runs()).length > 0);
  const [{ runId } = { runId: "" }] = await runs();
  const counts = { total: 2, done: 1, rejected: 1 };
  const ended = { submittedBy: "automation:greet", operation: "greet-active", counts };
  expect(await requests.ended(runId)).toMatchObject(ended);
  const rows = await requests.rowsOf(runId);
  expect(rows.find(({ key }) => key === harness.simId(0))).toMatchObject({ outcome: "done" });
  const reason = "The SIM has status=inactive; the operation requires status=active. Do activate first.";
  const rejected = rows.find(({ key }) => key === harness.simId(1));
  expect(rejected).toMatchObject({ outcome: "rejected", attempts: 0, reason });
});
