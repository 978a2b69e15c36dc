/** Operations that nobody attends: an automation that leaves out SIMs that are not allowed, and what a chat receives about runs. */
import { automations } from "#jobs/automations/feature.ts";
import { webhooks } from "#jobs/webhooks/feature.ts";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { RunReport } from "#jobs/runs/contract.ts";
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

/** What the chat has been sent: the path of each message, and its text. */
const received: (readonly [path: string, text: string])[] = [];
const chat = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const { text } = JSON.parse(Buffer.concat(chunks).toString()) as { text: string };
    received.push([request.url ?? "", text]);
    response.writeHead(200).end("ok");
  });
});

let harness: ControlHarness;
let requests: RunRequests;
beforeAll(async () => {
  await new Promise<void>((resolve) => chat.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(chat.address() as AddressInfo).port}/chat`;
  harness = await ControlHarness.open({
    works: true,
    sandbox: { operations: "all", records: "soracom", sims: 20, periodSeconds: 1, limits: { Sim: 10_000 } },
    env: { SIMFLEET_COVERAGE: "g", SIMFLEET_CHANGES_APPROVAL_FOR: "irreversible" },
    prepare: async (folder) => {
      await writeFile(join(folder, "own.yaml"), deployment);
      return `deployment: ${join(folder, "own.yaml")}
automations:
  greet: { on: sim.changed, where: "event.field=groupId", job: apply, operation: greet-active, set: { word: hello } }
webhooks:
  chat: { url: "${url}", format: slack, events: ["run.*"], allowPrivate: true }
`;
    },
  });
  await harness.app.work(["default"], [automations, webhooks]);
  requests = new RunRequests(harness);
}, 60_000);
afterAll(async () => {
  await harness[Symbol.asyncDispose]();
  await new Promise((resolve) => {
    chat.close(resolve);
    chat.closeAllConnections();
  });
});

/** The texts about a run, once all have arrived, sorted: messages may overtake each other. */
async function toldOf({ runId }: RunReport, messages: number): Promise<string[]> {
  const texts = () => received.flatMap(([path, text]) => (path === "/chat" && text.includes(runId) ? [text] : []));
  await until(`the chat has ${messages} messages about ${runId}`, () => texts().length >= messages);
  return texts().toSorted();
}

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

test("a chat reads how a run of an operation has ended, with its lost answers", async () => {
  harness.sandbox.faults.next("lost-answer", 1, "sendSimSms");
  const file = `simId,payload\n${harness.simId(5)},hello\n${harness.simId(6)},hello\n`;
  const run = await requests.start("operation=send-sms&name=notice", file);
  expect(await requests.ended(run.runId)).toMatchObject({ counts: { done: 1, unknown: 1 } });
  expect(await toldOf(run, 2)).toEqual([
    `Run ${run.runId} “notice” completed: 1 of 2 rows done, 1 unknown.`,
    `Run ${run.runId} “notice” was submitted by token:operator (rows: 2).`,
  ]);
});

test("a chat reads which run of an irreversible operation waits for a second person", async () => {
  await requests.become({ terminationEnabled: true, status: "active" }, [7]);
  const run = await requests.start("operation=terminate&confirm=1&name=old", `simId\n${harness.simId(7)}\n`);
  await requests.ask(`/v1/runs/${run.runId}/approve`, { method: "POST" }, "admin");
  await requests.ended(run.runId);
  expect(await toldOf(run, 4)).toEqual([
    `Run ${run.runId} “old” (rows: 1) is waiting for approval. Approve it with: simfleet runs approve ${run.runId}`,
    `Run ${run.runId} “old” completed: 1 of 1 rows done.`,
    `Run ${run.runId} “old” was approved by token:admin.`,
    `Run ${run.runId} “old” was submitted by token:operator (rows: 1).`,
  ]);
});
