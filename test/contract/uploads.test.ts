/** Uploaded files: their forms, their size, and that they are nowhere on the disk. */
import { createHash } from "node:crypto";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import type { PlanDocument } from "#jobs/runs/contract.ts";
import { until } from "../support/until.ts";
import { answerOf, ControlHarness } from "./support/control-harness.ts";

const csv = { "content-type": "text/csv" };

const harness = await ControlHarness.ofFile({ works: true, sandbox: { sims: 30 } });
/** Takes uploads of 1,000 bytes. */
const narrow = await ControlHarness.ofFile({ http: "  uploadBytes: 1000\n" });

/** What uploads leave: runs, drafts and plans, whatever keys a worker changes in them meanwhile, and files. */
async function left(of: ControlHarness): Promise<string[]> {
  const keys = await of.redis().keys("*");
  const names = keys.flatMap((key) => /:(?:(?:run|draft):[^:]+|runs$|plans$)/.exec(key) ?? []);
  return [...new Set([...names, ...(await readdir(join(of.folder, "data")))])].toSorted();
}

test("a plan is the same for a file as a body or as a form", async () => {
  const body = harness.csv(4);
  const form = new FormData();
  form.append("file", new Blob([body]), "C:\\fleets\\june.csv");
  const asBody = await harness.upload("/v1/plans", body);
  const asForm = await harness.ask("/v1/plans", { as: "operator", method: "POST", body: form });
  const [first, second] = (await Promise.all([asBody.json(), asForm.json()])) as [PlanDocument, PlanDocument];
  expect([asBody.status, asForm.status]).toEqual([201, 201]);
  expect(asBody.headers.get("location")).toBe(`/v1/plans/${first.planId}`);
  expect(first).toMatchObject({ rows: 4, sha256: createHash("sha256").update(body).digest("hex") });
  expect(second).toMatchObject({ rows: 4, sha256: first.sha256, file: "june.csv" });
});

test("a plan of a filter is refused while no sync has read the fleet", async () => {
  const filter = JSON.stringify({ where: [`simId=${harness.simId(0)}`], speedClass: "s1.fast" });
  const none = harness.upload("/v1/plans", filter, { headers: { "content-type": "application/json" } });
  expect(await answerOf(none)).toMatchObject([400, { code: "USAGE" }]);
});

test("an upload larger than the limit is refused with 413 and leaves nothing", async () => {
  const before = await left(narrow);
  const [large, form] = [narrow.csv(50), new FormData()];
  form.append("file", new Blob([large]), "large.csv");
  for (const init of [{ body: large, headers: csv }, { body: form }]) {
    const refused = await narrow.ask("/v1/runs", { as: "operator", method: "POST", ...init });
    expect(await answerOf(refused)).toMatchObject([413, { code: "TOO_LARGE" }]);
  }
  expect(await left(narrow)).toEqual(before);
});

test("an unreadable file is reported with its line and leaves nothing", async () => {
  const before = await left(harness);
  const broken = await harness.upload("/v1/runs", 'simId,speedClass\n"');
  const where = expect.stringContaining("line 2") as unknown;
  const refusal = { code: "INPUT_INVALID", problems: [{ where }] };
  expect(await answerOf(broken)).toMatchObject([422, refusal]);
  expect(broken.headers.get("content-type")).toBe("application/problem+json");
  expect(await left(harness)).toEqual(before);
});

test("a body of another type is refused with the types that are taken and leaves nothing", async () => {
  const before = await left(harness);
  const other = await harness.upload("/v1/runs", "x", { headers: { "content-type": "image/png" } });
  const detail = "POST /v1/runs does not take image/png. It takes text/csv, multipart/form-data or application/json";
  expect(await answerOf(other)).toMatchObject([415, { code: "BODY_UNSUPPORTED", detail }]);
  expect(await left(harness)).toEqual(before);
});

/** A plan of four rows, of which one is not valid, and requests to start it. */
async function setupPlan() {
  const planned = await harness.upload("/v1/plans?partial=true", `${harness.csv(3)}no/sense,s1.fast\n`);
  const { planId } = (await planned.json()) as PlanDocument;
  const start = (query = ""): Promise<Response> =>
    harness.ask(`/v1/runs?planId=${planId}${query}`, { as: "operator", method: "POST" });
  return { planId, start };
}

test("a plan names its rows that are not valid, and is started as planned only", async () => {
  const { planId, start } = await setupPlan();
  const rows = await harness.ask(`/v1/plans/${planId}/rows?verdict=invalid`, { as: "viewer" });
  const problem = expect.objectContaining({ code: "key-invalid" }) as unknown;
  expect(await rows.json()).toEqual({
    rows: [expect.objectContaining({ line: 5, verdict: "invalid", changes: [], problem })],
    nextCursor: null,
  });
  expect((await start("&partial=false")).status).toBe(400);
  expect((await start()).status).toBe(202);
});

test("a plan is started once, as the run of its ID, and is no plan then", async () => {
  const { planId, start } = await setupPlan();
  const begun = { counts: { total: 4, rejected: 1 }, submittedBy: "token:operator" };
  expect(await answerOf(start())).toMatchObject([202, begun]);
  expect(await answerOf(start())).toMatchObject([409, { code: "RUN_STATE_CONFLICT" }]);
  for (const [method, as] of [
    ["DELETE", "operator"],
    ["GET", "viewer"],
  ]) {
    expect((await harness.ask(`/v1/plans/${planId}`, { as, method: method ?? "" })).status).toBe(404);
  }
  expect((await harness.ask(`/v1/runs/${planId}`, { as: "viewer" })).status).toBe(200);
});

test("a results file is refused, unless the request says that it is one", async () => {
  const body = "simId,speedClass,Outcome,reason,attempts,finished_at\n8942310022000000000,s1.fast,done,,1,\n";
  const plan = (query: string): Promise<Response> => harness.upload(`/v1/plans${query}`, body);
  const detail = expect.stringContaining("fromResults=true") as string;
  expect(await answerOf(plan(""))).toMatchObject([422, { detail }]);
  expect((await plan("?fromResults=true")).ok).toBe(true);
});

test("a request that cannot succeed is refused before its file is read", async () => {
  const large = narrow.csv(50);
  const refusalOf = (path: string): Promise<unknown> => answerOf(narrow.upload(path, large));
  // The file is larger than the bound, which is not what the responses say.
  expect(await refusalOf("/v1/plans?profile=typo")).toMatchObject([404, { code: "NOT_FOUND" }]);
  expect(await refusalOf("/v1/runs?profile=typo")).toMatchObject([404, { code: "NOT_FOUND" }]);
  const detail = expect.stringContaining("send planId without others") as unknown;
  expect(await refusalOf("/v1/runs?planId=p-none")).toMatchObject([400, { detail }]);
});

const end = "--x--\r\n";
const part = (name: string): string =>
  `--x\r\ncontent-disposition: form-data; name="${name}"; filename="a.csv"\r\n\r\n${harness.csv(2)}\r\n`;

test.each<[string, string, string?]>([
  ["breaks off", part("file")],
  ["is none", "simId,speedClass\n"],
  ["has no parts", end],
  ["has no boundary", `${part("file")}${end}`, "multipart/form-data"],
  ["has a long boundary", `${part("file")}${end}`, `multipart/form-data; boundary=${"x".repeat(300)}`],
  ["has two files", `${part("file")}${part("file")}${end}`],
  ["has its file in another field", `${part("rows")}${end}`],
])(
  "a form that %s is refused with 400 and leaves nothing",
  async (_, body, type = "multipart/form-data; boundary=x") => {
    const before = await left(harness);
    const refused = harness.upload("/v1/plans", body, { headers: { "content-type": type } });
    expect(await answerOf(refused)).toMatchObject([400, { code: "REQUEST_INVALID" }]);
    expect(await left(harness)).toEqual(before);
    expect(harness.log.filter((line) => line.includes('"stack"'))).toEqual([]);
  },
);

test.each(["/v1/plans", "/v1/runs"])("a caller of %s that disconnects ends the reading of its file", async (path) => {
  const stopped = Promise.withResolvers<void>();
  const drafting = vi.spyOn(harness.runs, "draft").mockImplementationOnce(async (_from, _order, signal) => {
    await new Promise((resolve) => signal?.addEventListener("abort", resolve, { once: true }));
    stopped.resolve();
    signal?.throwIfAborted();
    throw new Error("not stopped");
  });
  const client = new AbortController();
  const asked = harness.upload(path, harness.csv(3), { signal: client.signal });
  await until("its file is read", () => drafting.mock.calls.length > 0);
  client.abort();
  await expect(asked).rejects.toThrow("aborted");
  await stopped.promise;
});
