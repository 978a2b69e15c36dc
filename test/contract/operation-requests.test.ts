/** Requests for operations: what is rejected before a call or must be confirmed, and what lost responses lead to. */
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { inflateRawSync } from "node:zlib";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import type { RunReport, SimRun } from "#jobs/runs/contract.ts";
import { answerOf } from "./support/control-harness.ts";
import { csv, openWorker, posting, tagOperation, workerOfFile } from "./support/run-requests.ts";

const secretValue = "do-not-show-this-7F3A";

const operations = {
  "set-secret-tag": tagOperation("word", {
    input: { word: { required: true, secret: true } },
    answer: "none",
    sets: undefined,
  }),
};
const { harness, requests } = await workerOfFile({
  operations,
  withSeal: true,
  sandbox: { slowMs: 200 },
  env: { SIMFLEET_CHANGES_APPROVAL_FOR: "irreversible" },
});

beforeEach(() =>
  requests.become({ status: "active", terminationEnabled: false, tags: {}, groupId: null }, [0, 1, 2, 3]),
);

/** The content of every file in a folder, by its path. */
async function filesIn(folder: string): Promise<Map<string, Buffer>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  return new Map(await Promise.all(paths.map(async (path) => [path, await readFile(path)] as const)));
}

interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly message: string;
}

describe("requests that cannot succeed", () => {
  const sim = (): string => harness.simId(0);
  test.each<[string, () => [query: string, body: string], Refusal]>([
    [
      "an operation that does not exist",
      () => ["operation=set-gruop", `simId\n${sim()}\n`],
      { status: 404, code: "OPERATION_NOT_FOUND", message: "Did you mean set-group?" },
    ],
    [
      "a missing column",
      () => ["operation=set-group", `simId,group\n${sim()},g\n`],
      { status: 422, code: "INPUT_INVALID", message: "has no column groupId. Columns found: simId, group." },
    ],
    [
      "an input that the operation does not have",
      () => ["operation=activate&set.groupId=g", `simId\n${sim()}\n`],
      { status: 422, code: "INPUT_INVALID", message: "activate has no input groupId" },
    ],
    [
      "SIMs of which none matches what is required",
      () => ["operation=terminate&confirm=1&partial=true", `simId\n${sim()}\n`],
      { status: 422, code: "INPUT_INVALID", message: "No row of the file can be sent" },
    ],
  ])(
    "a request that cannot succeed is refused before any platform call: %s",
    async (_, request, { status, code, message }) => {
      const before = harness.sandbox.state.totals.calls;
      const [query, body] = request();
      const answer = await requests.send(`/v1/runs?${query}`, { method: "POST", body, headers: csv });
      expect(answer).toMatchObject({ status, body: { code, detail: expect.stringContaining(message) as string } });
      expect(harness.sandbox.state.totals.calls).toBe(before);
    },
  );

  test("a filter without a value and an unknown parameter are refused before any platform call", async () => {
    const incomplete = await requests.send("/v1/runs", posting({ where: "status=active", operation: "set-group" }));
    const detail = "set-group of SIMs that are selected by a filter needs groupId: add --set groupId=VALUE";
    expect(incomplete).toMatchObject({ status: 400, body: { code: "USAGE", detail } });
    const init = { method: "POST", body: "simId\n1\n", headers: csv };
    const unknown = await requests.send("/v1/plans?st.groupId=g", init);
    expect(unknown).toMatchObject({ status: 400, body: { code: "REQUEST_INVALID" } });
  });

  test("a tag name that would leave the path is rejected, and the plan explains which SIMs are rejected", async () => {
    for (const name of ["../../x", "..", "a%2Fb"]) {
      const init = { method: "POST", body: `simId,tagName\n${sim()},${name}\n`, headers: csv };
      const detail = expect.stringContaining("is not valid for tagName: text, without / \\ and %") as string;
      const refused = await requests.send("/v1/runs?operation=delete-tag", init);
      expect(refused).toMatchObject({ status: 422, body: { detail } });
    }
    const plan = await requests.plan("operation=terminate", `simId\n${sim()}\n`);
    const has = "The SIM has terminationEnabled=false";
    const requires = "the operation requires terminationEnabled=true and status!=terminated";
    const message = `${has}; ${requires}. Do enable-termination first.`;
    expect(plan.problems).toMatchObject([{ code: "rejected", message }]);
  });
});

describe("irreversible operations", () => {
  const body = (): string => `simId\n${harness.simId(1)}\n${harness.simId(2)}\n`;
  const start = (query: string) =>
    requests.send(`/v1/runs?operation=terminate${query}`, { method: "POST", body: body(), headers: csv });

  test("an irreversible operation requires its number of SIMs and, if configured, a second approver", async () => {
    await requests.become({ terminationEnabled: true }, [1, 2]);
    for (const query of ["", "&confirm=1", "&confirm=3"]) {
      expect(await start(query)).toMatchObject({ status: 409, body: { code: "NOT_CONFIRMED" } });
    }
    expect(harness.sandbox.state.sims.effectTotals.terminateSim ?? 0).toBe(0);
    const { body: waiting } = await start("&confirm=2");
    const { runId, state } = waiting as RunReport;
    expect(state).toBe("awaiting-approval");
    await requests.ask(`/v1/runs/${runId}/approve`, { method: "POST" }, "admin");
    expect(await requests.ended(runId)).toMatchObject({ operation: "terminate", counts: { done: 2, unknown: 0 } });
    const refusal = { code: "RUN_STATE_CONFLICT", detail: expect.stringContaining("terminate has no undo") as string };
    const undo = await requests.send(`/v1/runs/${runId}/undo`, { method: "POST" });
    expect(undo).toMatchObject({ status: 409, body: refusal });
  });

  test("the plan of an irreversible operation is confirmed with the number it shows", async () => {
    await requests.become({ terminationEnabled: true }, [1, 2]);
    const query = "operation=set-expiry-terminate&set.expiryTime=2099-01-01T00:00:00Z";
    const plan = await requests.plan(query, body());
    expect(plan).toMatchObject({ calls: 2, irreversible: 2 });
    expect(await requests.startPlan(plan.planId)).toMatchObject({ body: { code: "NOT_CONFIRMED" } });
    const { runId } = await requests.ask<RunReport>(`/v1/runs?planId=${plan.planId}&confirm=2`, { method: "POST" });
    await requests.ask(`/v1/runs/${runId}/cancel`, { method: "POST" });
  });
});

describe("calls that must not be repeated", () => {
  test("an unsafe call ends as unknown when its response is lost and is repeated only on request", async () => {
    harness.sandbox.faults.next("lost-answer", 1, "sendSimSms");
    const body = `simId,payload\n${harness.simId(5)},hello\n`;
    const { runId, ...ended } = await requests.complete("operation=send-sms", body);
    expect(ended).toMatchObject({ state: "completed", counts: { unknown: 1 } });
    const reason = expect.stringMatching(/^sent at \d{4}-.*It is not sent again: it may have been done$/) as string;
    const row = { outcome: "unknown", attempts: 1, inputs: { payload: "hello" }, changes: [], reason };
    expect(await requests.rowsOf(runId)).toMatchObject([row]);
    expect(requests.messagesTo(5)).toBe(1);
    const refused = await requests.send(`/v1/runs/${runId}/retry`, { method: "POST" });
    expect(refused).toMatchObject({ status: 409, body: { code: "RUN_STATE_CONFLICT" } });
    const retry = await requests.ask<RunReport>(`/v1/runs/${runId}/retry`, posting({ outcomes: ["unknown"] }));
    expect(await requests.ended(retry.runId)).toMatchObject({ counts: { done: 1 } });
    expect(requests.messagesTo(5)).toBe(2);
  });

  test("an unsafe call ends as done when the record shows its change", async () => {
    await requests.become({ terminationEnabled: true }, [3]);
    harness.sandbox.faults.next("lost-answer", 1, "terminateSim");
    const body = `simId\n${harness.simId(3)}\n`;
    const { runId } = await requests.start("operation=terminate&confirm=1", body);
    await requests.ask(`/v1/runs/${runId}/approve`, { method: "POST" }, "admin");
    await requests.ended(runId);
    expect(await requests.rowsOf(runId)).toMatchObject([
      { outcome: "done", reason: expect.stringContaining("the record shows the change") as string },
    ]);
  });
});

describe("secret inputs", () => {
  /** A run with the secret. @returns all that responses have shown of its plan and of itself */
  async function showSecret(key: string): Promise<string> {
    const body = `simId,word,site\n${key},${secretValue},berlin\n`;
    const { planId } = await requests.plan("operation=set-secret-tag", body);
    const shown: unknown[] = [];
    for (const list of ["rows", "verdicts"]) shown.push(await requests.send(`/v1/plans/${planId}/${list}`));
    const { runId } = await requests.ask<RunReport>(`/v1/runs?planId=${planId}`, { method: "POST" });
    expect(await requests.ended(runId)).toMatchObject({ counts: { done: 1 } });
    const lists = ["rows", "results", "results?format=ndjson"];
    for (const list of lists) shown.push(await requests.send(`/v1/runs/${runId}/${list}`));
    return JSON.stringify(shown);
  }

  // This case comes first: a later sync reads the value from the platform, where it is a tag as any other.
  test("a secret input is in no response, file or line of the log", async () => {
    const shown = await showSecret(harness.simId(6));
    const stored = await filesIn(join(harness.folder, "data"));
    for (const [name, content] of stored) expect(content.includes(secretValue), name).toBe(false);
    expect(shown).not.toContain(secretValue);
    expect(shown).toContain("berlin");
    expect(harness.log.join("")).not.toContain(secretValue);
  });

  test("a secret input is sealed in Redis, and reaches the platform", async () => {
    const key = harness.simId(6);
    await showSecret(key);
    const redis = harness.redis();
    for (const name of await redis.keys("*:input*")) {
      for (const packed of Object.values(await redis.hgetallBuffer(name))) {
        expect(inflateRawSync(packed).toString()).not.toContain(secretValue);
      }
    }
    const { body: record } = await requests.send(`/v1/sims/${key}/fresh`);
    expect(JSON.stringify(record)).toContain(secretValue);
  });

  test("a file with a secret input is refused before its upload if no key is configured", async () => {
    const { harness: keyless } = await openWorker({ operations });
    onTestFinished(() => keyless[Symbol.asyncDispose]());
    const body = `simId,word\n${keyless.simId(0)},${secretValue}\n`;
    for (const path of ["/v1/plans", "/v1/runs"]) {
      const query = "operation=set-secret-tag";
      const refusal = { code: "USAGE", detail: expect.stringContaining("configure seal.keyFile") as unknown };
      expect(await answerOf(keyless.upload(`${path}?${query}`, body))).toMatchObject([400, refusal]);
    }
    expect(await keyless.redis().keys("*:draft:*")).toEqual([]);
  });
});

test("a SIM is read from the platform with its statuses and its rows in runs", async () => {
  const key = harness.simId(7);
  const body = `simId,groupId\n${key},${harness.sandbox.state.groups.all[0]?.groupId}\n`;
  const { runId } = await requests.complete("operation=set-group&name=regroup", body);
  const groupId = harness.sandbox.state.groups.all[0]?.groupId;
  expect(await requests.ask(`/v1/sims/${key}/fresh`)).toMatchObject({ simId: key, groupId });
  expect(await requests.ask(`/v1/sims/${key}`)).toMatchObject({ groupId });
  expect(await requests.ask(`/v1/sims/${key}/statuses`)).toMatchObject({ statuses: expect.any(Array) as unknown });
  const { runs } = await requests.ask<{ runs: SimRun[] }>(`/v1/sims/${key}/runs`);
  const changes = [{ field: "groupId", after: groupId }];
  expect(runs).toMatchObject([{ runId, name: "regroup", operation: "set-group", outcome: "done", changes }]);
  expect(await requests.ask(`/v1/sims/${harness.simId(8)}/runs`)).toEqual({ runs: [], nextCursor: null });
});
