/** An operation that nobody attends: an automation that leaves out SIMs that are not allowed. */
import { automations } from "#jobs/automations/feature.ts";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { until } from "../support/until.ts";
import { ControlHarness } from "./support/control-harness.ts";
import { RunRequests } from "./support/run-requests.ts";

const deployment = `
extends: soracom
brand: Svc
simOperations:
  greet-active:
    summary: Tag an active SIM
    method: PUT
    path: /v1/sims/{simId}/tags
    group: Sim
    input: { word: { required: true } }
    body: [{ tagName: greeting, tagValue: "{word}" }]
    statuses: [200]
    answer: record
    sets: { tags.greeting: "{word}" }
    requires: status=active
    repeat: safe
`;

let harness: ControlHarness;
let requests: RunRequests;
beforeAll(async () => {
  harness = await ControlHarness.open({
    works: true,
    sandbox: { operations: "all", records: "soracom", sims: 20, periodSeconds: 1, limits: { Sim: 10_000 } },
    env: { SIMFLEET_COVERAGE: "g" },
    prepare: async (folder) => {
      await writeFile(join(folder, "own.yaml"), deployment);
      return `deployment: ${join(folder, "own.yaml")}
automations:
  greet: { on: sim.changed, where: "event.field=groupId", job: apply, operation: greet-active, set: { word: hello } }
`;
    },
  });
  await harness.app.work(["default"], [automations]);
  requests = new RunRequests(harness);
}, 600_000);
afterAll(() => harness[Symbol.asyncDispose]());

test("an automation changes the SIMs that are allowed, and reports the others as rejected", async () => {
  await requests.become({ status: "active", groupId: null }, [0]);
  await requests.become({ status: "inactive", groupId: null }, [1]);
  // Both changes are found by one sync, and become one run.
  await requests.become({ groupId: harness.sandbox.state.groups.all[0]?.groupId }, [0, 1]);
  const runs = async () => (await harness.runs.list({ limit: 10 })).runs.filter(({ name }) => name === "greet");
  await until("the automation has started a run", async () => (await runs()).length > 0);
  const [{ runId } = { runId: "" }] = await runs();
  expect(await requests.ended(runId)).toMatchObject({
    submittedBy: "automation:greet",
    operation: "greet-active",
    counts: {
      total: 2,
      done: 1,
      rejected: 1,
    },
  });
  const rows = await requests.rowsOf(runId);
  expect(rows.find(({ key }) => key === harness.simId(0))).toMatchObject({ outcome: "done" });
  expect(rows.find(({ key }) => key === harness.simId(1))).toMatchObject({
    outcome: "rejected",
    attempts: 0,
    reason: "The SIM has status=inactive; the operation requires status=active. Do activate first.",
  });
});
