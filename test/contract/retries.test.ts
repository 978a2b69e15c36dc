/** Retries and undos: what they send, and that calls that are unsafe to repeat are taken by one run only. */
import { afterEach, describe, expect, test } from "vitest";
import type { RunReport } from "#jobs/runs/contract.ts";
import { until } from "../support/until.ts";
import { runCommand } from "./support/run-command.ts";
import { json, posting, tagOperation, workerOfFile } from "./support/run-requests.ts";

const undoneBy = (operation: string) => ({ undo: { operation, set: { name: "{before.tags.name}" } } });
const { harness, requests } = await workerOfFile({
  operations: {
    "rename-once": tagOperation("name", { repeat: "unsafe", ...undoneBy("rename-once") }),
    rename: tagOperation("name", undoneBy("rename-for-good")),
    "rename-for-good": tagOperation("name", { danger: "irreversible" }),
  },
});
afterEach(async () => {
  const { runs } = await harness.runs.list({ limit: 10, state: "running" });
  await Promise.all(runs.map(({ runId }) => harness.runs.control.cancel(runId).catch(() => undefined)));
});

/** A file for SIMs from one place to another. */
function file(header: string, from: number, to: number, value: string): string {
  const places = Array.from({ length: to - from }, (_, i) => from + i);
  return `simId,${header}\n${places.map((place) => `${harness.simId(place)},${value}\n`).join("")}`;
}

/** Three messages, of which the response of the first is lost and the others are not sent. */
async function cancelledAfterLoss(from: number): Promise<string> {
  harness.sandbox.faults.next("lost-answer", 1, "sendSimSms");
  const { runId } = await requests.start("operation=send-sms&rate=1", file("payload", from, from + 3, "hello"));
  const counts = async () => (await requests.ask<RunReport>(`/v1/runs/${runId}`)).counts;
  await until("the answer is lost", async () => (await counts()).unknown === 1);
  await requests.ask(`/v1/runs/${runId}/cancel`, { method: "POST" });
  expect(await counts()).toMatchObject({ unknown: 1, cancelled: 2 });
  return runId;
}

function retry(runId: string, outcomes?: readonly string[], key?: string) {
  const headers = { ...json, ...(key === undefined ? {} : { "idempotency-key": key }) };
  return requests.send(`/v1/runs/${runId}/retry`, { ...posting({ outcomes }), headers });
}

function refused(by: string, what: string) {
  return {
    status: 409,
    body: {
      code: "RUN_STATE_CONFLICT",
      detail: expect.stringContaining(`${what} by run ${by}; retry that run instead`) as string,
    },
  };
}

describe("a retry of an unsafe run", () => {
  test("a second retry of an unsafe run is refused and names the first, by HTTP and by command", async () => {
    const runId = await cancelledAfterLoss(0);
    const { planId } = await requests.planOf({ retryOf: runId });
    const first = (await retry(runId)).body as RunReport;
    expect(first).toMatchObject({ retryOf: runId, counts: { total: 2 } });
    const what = `The cancelled rows of run ${runId} were already retried`;
    expect(await retry(runId)).toMatchObject(refused(first.runId, what));
    expect(await requests.startPlan(planId)).toMatchObject(refused(first.runId, what));
    expect(await retry(runId, ["unknown", "cancelled"])).toMatchObject(refused(first.runId, what));
    const refusal = { code: 2, stderr: expect.stringContaining(`${what} by run ${first.runId}; retry that run`) };
    for (const where of ["local", "remote"] as const)
      expect(await runCommand(harness, ["runs", "retry", runId, "--yes", "--detach"], where)).toMatchObject(refusal);
    await requests.ask(`/v1/runs/${first.runId}/cancel`, { method: "POST" });
    expect((await retry(first.runId)).status).toBe(202);
  });

  test("a retry of an unsafe run takes each outcome once and is the same run under the same key", async () => {
    const runId = await cancelledAfterLoss(3);
    expect((await retry(runId, ["cancelled"])).status).toBe(202);
    const lost = await retry(runId, ["unknown"], "again");
    expect(lost).toMatchObject({ status: 202, body: { counts: { total: 1 } } });
    const { runId: newRunId } = lost.body as RunReport;
    expect(await retry(runId, ["unknown"], "again")).toMatchObject({ status: 202, body: { runId: newRunId } });
    // The process died before it answered: the request is carried out again under the same id.
    const again = await harness.runs.draftRetry(runId, { outcomes: ["unknown"] }, newRunId);
    expect(await harness.runs.submit(again, { by: "anna", runId: newRunId })).toMatchObject({ runId: newRunId });
    await requests.ended(newRunId);
    expect(requests.messagesTo(3)).toBe(2);
    const what = `The unknown rows of run ${runId} were already retried`;
    expect(await retry(runId, ["unknown"])).toMatchObject(refused(newRunId, what));
  });

  test("only one of several simultaneous retries of an unsafe run is accepted", async () => {
    const runId = await cancelledAfterLoss(6);
    const answers = await Promise.all([retry(runId), retry(runId), retry(runId, ["cancelled", "unknown"])]);
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([202, 409, 409]);
    const winner = answers.find(({ status }) => status === 202)?.body as RunReport;
    for (const answer of answers.filter(({ status }) => status === 409)) {
      expect(answer).toMatchObject(refused(winner.runId, "were already retried"));
    }
    expect(await harness.redis().keys("*:draft:*")).toEqual([]);
  });
});

test("a run is retried once it is over, with the rows that are left, and as often as wanted", async () => {
  const { runId } = await requests.start("operation=put-tag&rate=1&set.tagName=a", file("tagValue", 9, 12, "b"));
  const conflict = (detail: string) => ({ status: 409, body: { code: "RUN_STATE_CONFLICT", detail } });
  const end = `wait until it ends, or cancel it with simfleet runs cancel ${runId}`;
  const running = `Run ${runId} is running; only a finished run can be retried: ${end}`;
  expect(await retry(runId)).toMatchObject(conflict(running));
  await requests.ask(`/v1/runs/${runId}/cancel`, { method: "POST" });
  const { counts } = await requests.ended(runId);
  const over = `Run ${runId} is cancelled and cannot be resumed: retry its unsuccessful rows with simfleet runs retry ${runId}`;
  expect(await requests.send(`/v1/runs/${runId}/resume`, { method: "POST" })).toMatchObject(conflict(over));
  const again = { retryOf: runId, counts: { total: counts.cancelled } };
  for (let n = 0; n < 2; n += 1) expect(await retry(runId)).toMatchObject({ status: 202, body: again });
});

test("a retry of one of two rows that share a call counts that row alone", async () => {
  const rows = `${file("tagValue", 15, 17, "b")}${harness.simId(16)},b\n`;
  const { runId } = await requests.start("operation=put-tag&rate=1&set.tagName=a", rows);
  await requests.ask(`/v1/runs/${runId}/cancel`, { method: "POST" });
  const again = await requests.ask<RunReport>(`/v1/runs/${runId}/retry`, posting({ lines: [3] }));
  expect((await requests.ended(again.runId)).counts).toMatchObject({ total: 1, done: 1, pending: 0 });
});

test("an undo by calls that must not be repeated is made once", async () => {
  await requests.become({ tags: { name: "old" } }, [12, 13]);
  const { runId } = await requests.complete("operation=rename-once", file("name", 12, 14, "new"));
  const undo = () => requests.send(`/v1/runs/${runId}/undo`, { method: "POST" });
  const answers = await Promise.all([undo(), undo()]);
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([202, 409]);
  const undoId =
    answers.map(({ body }) => body as Partial<RunReport>).find((body) => body.undoOf === runId)?.runId ?? "";
  const what = `Run ${runId} was already undone`;
  expect(answers.find(({ status }) => status === 409)).toMatchObject(refused(undoId, what));
  expect(await requests.ended(undoId)).toMatchObject({ counts: { done: 2 } });
  expect(await undo()).toMatchObject(refused(undoId, what));
  expect(harness.sandbox.state.effectsOn(harness.simId(12))["putSimTags"]).toBe(2);
});

describe("a planned retry or undo", () => {
  test("an undo that was planned while its run was paused is refused once the run goes on", async () => {
    const { runId } = await requests.start("operation=rename&rate=6", file("name", 23, 29, "slow"));
    await until("a call was made", async () => (await harness.runs.show(runId)).counts.done > 0);
    await requests.ask(`/v1/runs/${runId}/pause`, { method: "POST" });
    await until("it stands still", async () => (await harness.runs.record(runId)).isHeld === false);
    const { planId } = await requests.planOf({ undoOf: runId });
    await requests.ask(`/v1/runs/${runId}/resume`, { method: "POST" });
    expect(await requests.startPlan(planId)).toMatchObject({ status: 409, body: { code: "RUN_STATE_CONFLICT" } });
  });

  test("a retry is refused once its run is deleted, since another may have sent its rows", async () => {
    const runId = await cancelledAfterLoss(26);
    const { planId } = await requests.planOf({ retryOf: runId });
    await requests.ask(`/v1/runs/${runId}`, { method: "DELETE" }, "admin");
    expect(await requests.startPlan(planId)).toMatchObject({ status: 404, body: { code: "RUN_NOT_FOUND" } });
    expect(await harness.redis().exists(`{simfleet}:run:${runId}`)).toBe(0);
  });
});

describe("irreversible calls", () => {
  /** Needs its number by every surface, and takes no other. */
  async function needsNumber(path: string, words: readonly string[], calls: number): Promise<void> {
    const detail = expect.stringContaining(`--confirm ${calls} on the command line, confirm in the API`) as string;
    const refusal = { status: 409, body: { code: "NOT_CONFIRMED", detail } };
    for (const document of [{}, { confirm: calls + 1 }])
      expect(await requests.send(path, posting(document))).toMatchObject(refusal);
    const refusedCommand = { code: 2, stderr: expect.stringContaining(`number of SIMs with --confirm ${calls}`) };
    for (const where of ["local", "remote"] as const) {
      for (const more of [["--yes"], []])
        expect(await runCommand(harness, [...words, ...more], where)).toMatchObject(refusedCommand);
    }
    const { code, stdout } = await runCommand(harness, [...words, "--confirm", String(calls), "--detach"], "local");
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^r-/)]);
  }

  test("a retry of irreversible calls is confirmed with their number, which leaves out duplicate rows", async () => {
    await requests.become({ terminationEnabled: true, status: "active" }, [15, 16, 17]);
    const rows = [15, 16, 16, 17].map((place) => `${harness.simId(place)}\n`).join("");
    const { runId } = await requests.start("operation=terminate&confirm=3&rate=1", `simId\n${rows}`);
    await until("one is terminated", async () => (await harness.runs.show(runId)).counts.done === 1);
    await requests.ask(`/v1/runs/${runId}/cancel`, { method: "POST" });
    const plan = { operation: "terminate", rows: 3, calls: 2, costly: 0, irreversible: 2, warnings: [] };
    expect(await requests.planOf({ retryOf: runId })).toMatchObject(plan);
    await needsNumber(`/v1/runs/${runId}/retry`, ["runs", "retry", runId], 2);
  });

  test("an undo by irreversible calls is confirmed with their number", async () => {
    await requests.become({ tags: { name: "old" } }, [18, 19]);
    const { runId } = await requests.complete("operation=rename", file("name", 18, 20, "new"));
    const plan = await requests.planOf({ undoOf: runId });
    expect(plan).toMatchObject({ operation: "rename-for-good", calls: 2, irreversible: 2 });
    await needsNumber(`/v1/runs/${runId}/undo`, ["runs", "undo", runId, "--no-sync"], 2);
  });
});

test("the plan of an undo and of a retry counts calls that cost money", async () => {
  await requests.become({ status: "active" }, [20, 21]);
  const { runId } = await requests.complete("operation=suspend", file("note", 20, 22, ""));
  const undo = { operation: "activate", rows: 2, calls: 2, irreversible: 0, warnings: [] };
  expect(await requests.planOf({ undoOf: runId })).toMatchObject({ ...undo, costly: 2 });
  // A SIM that is no longer suspended is left alone.
  await requests.become({ status: "inactive" }, [21]);
  expect(await requests.planOf({ undoOf: runId })).toMatchObject({ ...undo, calls: 1, costly: 1 });
  const lost = await cancelledAfterLoss(22);
  const retried = { operation: "send-sms", rows: 3, calls: 3, irreversible: 0, warnings: [] };
  const plan = await requests.planOf({ retryOf: lost, outcomes: ["unknown", "cancelled"] });
  expect(plan).toMatchObject({ ...retried, costly: 3 });
});

test("a value with a line break counts as unchanged, and is restored by an undo", async () => {
  const [query, rows] = ["operation=put-tag&set.tagName=note", file("tagValue", 25, 26, '"new\nnote"')];
  await requests.become({ tags: { note: "old\nnote" } }, [25]);
  const { runId } = await requests.complete(query, rows);
  expect(await requests.rowsOf(runId)).toMatchObject([
    { outcome: "done", changes: [{ field: "tags.note", before: "old\nnote", after: "new\nnote" }] },
  ]);
  const plan = await requests.plan(query, rows);
  expect(plan.verdicts).toMatchObject({ unchanged: 1, change: 0 });
  const undo = await requests.ask<RunReport>(`/v1/runs/${runId}/undo`, { method: "POST" });
  expect(await requests.ended(undo.runId)).toMatchObject({ counts: { done: 1 } });
  expect(await requests.ask(`/v1/sims/${harness.simId(25)}/fresh`)).toMatchObject({ tags: { note: "old\nnote" } });
});
