/** Single calls that are unsafe to repeat: when a row counts as sent, and how a lost response is followed up. */
import { describe, expect, it } from "vitest";
import type { PlatformClientOptions } from "#api/client-options.ts";
import { systemClock } from "#core/time.ts";
import type { SimOperation } from "#fleet/sim-operation/sim-operation.ts";
import { UnsafeCalls } from "#jobs/runs/work/unsafe-calls.ts";
import { openTestRedis } from "../../support/redis.ts";
import { until } from "../../support/until.ts";
import { answer, type Handler, OpenPermits } from "../../unit/api/support.ts";
import { submit } from "./run-of.ts";
import { sendSms, terminate } from "./unsafe-operations.ts";
import { toTerminate, UnsafeWork } from "./unsafe-work.ts";

let offsetMs = 0;
const clock = { ...systemClock, wallMs: () => systemClock.wallMs() + offsetMs };
const work = new UnsafeWork(openTestRedis(), clock);
const { ledger } = work;

/** The SIM of the first row. */
const firstSim = "8942300000000000001";

/** Loses the response to a call for the first SIM; `read` answers the read of its record. */
function losingFirst(read: Handler): Handler {
  return (request, response) => {
    if (request.method === "GET") read(request, response);
    else if (request.url?.includes(firstSim) === true) request.socket.destroy();
    else answer(response, 200, { status: "terminated" });
  };
}

const shows =
  (status: string): Handler =>
  (_, response) =>
    answer(response, 200, { status });

/** Grants a number of permits; a later caller waits until it is stopped. */
class FewPermits extends OpenPermits {
  left: number;
  waiting = 0;

  constructor(left: number) {
    super();
    this.left = left;
  }

  override acquire(request: Parameters<PlatformClientOptions["permits"]["acquire"]>[0]) {
    if (request.bucket !== "default.Sim" || this.left-- > 0) return super.acquire(request);
    this.waiting += 1;
    const { promise, reject } = Promise.withResolvers<never>();
    const { signal } = request;
    signal?.addEventListener("abort", () => reject(signal.reason as Error));
    return promise;
  }
}

/** A run of calls that are unsafe to repeat. */
async function setup(operation: SimOperation, weights: readonly number[][] = [[1]]): Promise<string> {
  const rowOf = operation === terminate ? toTerminate : undefined;
  return (await submit(ledger, weights, { operations: [operation] }, rowOf)).runId;
}

/** Begins the work of a run, which soon waits for the quota. */
async function workUntilWaiting(runId: string, handler: Handler, permitted: number, signal?: AbortSignal) {
  const permits = new FewPermits(permitted);
  const working = work.execute(runId, handler, { permits, ...(signal && { signal }) });
  await until("it waits for the quota", () => permits.waiting === 1);
  return { working };
}

it("a row stays pending when its run is stopped between a 401 and the repetition, and is sent later", async () => {
  const runId = await setup(sendSms);
  const stop = new AbortController();
  const refuse: Handler = (_, response) => answer(response, 401, "");
  const { working } = await workUntilWaiting(runId, refuse, 1, stop.signal);
  stop.abort(new Error("stopped"));
  expect((await working).result).toEqual({ kind: "handed-back" });
  expect((await work.triesOf(runId)).get(0)?.sentAtMs).toBeUndefined();
  expect(await work.rows(runId)).toMatchObject([{ outcome: "pending" }]);

  const { result, calls } = await work.execute(runId, (_, response) => answer(response, 202, ""));
  expect(result).toMatchObject({ kind: "finished" });
  expect(calls.map(({ path }) => path)).toEqual([expect.stringMatching(/send_sms$/)]);
  expect(await work.rows(runId)).toMatchObject([{ outcome: "done" }]);
});

describe.each<[string, Handler, number]>([
  ["the record does not show the change yet", shows("active"), 120_000],
  ["the record cannot be read now", (_, response) => answer(response, 502, ""), 2_000],
])("while a row waits for its read-back because %s,", (_, read, waitMs) => {
  async function setupWaiting() {
    const runId = await setup(terminate, [[1, 1, 1]]);
    return { runId, ...(await work.execute(runId, losingFirst(read))) };
  }

  it("the other rows continue", async () => {
    const { runId, result, calls } = await setupWaiting();
    expect(calls.map(({ method }) => method)).toEqual(["POST", "GET", "POST", "POST"]);
    expect(result).toMatchObject({ kind: "postponed", scope: "job" });
    expect((result as { delayMs: number }).delayMs).toBeGreaterThan(waitMs - 2_000);
    expect((result as { delayMs: number }).delayMs).toBeLessThanOrEqual(waitMs);
    expect((await work.rows(runId)).map(({ outcome }) => outcome)).toEqual(["pending", "done", "done"]);
  });

  it("a job that comes back early makes no call, in whatever process, and a later one reads the record", async () => {
    const { runId } = await setupWaiting();
    const early = await work.execute(runId, losingFirst(read));
    expect(early).toMatchObject({ result: { kind: "postponed", scope: "job" }, calls: [] });
    offsetMs += waitMs;
    const late = await work.execute(runId, losingFirst(shows("terminated")));
    expect(late.result).toMatchObject({ kind: "finished" });
    expect(late.calls.map(({ method }) => method)).toEqual(["GET"]);
    const [row] = await work.rows(runId);
    const reason = expect.stringContaining("the record shows the change") as string;
    expect(row).toMatchObject({ outcome: "done", reason });
    expect(row?.reason).not.toContain("the process ended");
  });
});

it("a row ends as unknown when its record may not be read, and the others continue", async () => {
  const runId = await setup(terminate, [[1, 1]]);
  const forbidden: Handler = (_, response) => answer(response, 403, { code: "F1", message: "not allowed" });
  const { result, calls } = await work.execute(runId, losingFirst(forbidden));
  expect(result).toMatchObject({ kind: "finished" });
  expect(calls.map(({ method }) => method)).toEqual(["POST", "GET", "POST"]);
  expect(await work.rows(runId)).toMatchObject([
    { outcome: "unknown", reason: expect.stringContaining("It is not sent again: it may have been done") as string },
    { outcome: "done" },
  ]);
  expect((await ledger.run(runId)).problem).toBeUndefined();
});

it("a pause while a read-back waits for the quota keeps the row as sent, and a later job reads it", async () => {
  const runId = await setup(terminate);
  const { working } = await workUntilWaiting(runId, losingFirst(shows("active")), 1);
  await ledger.move(runId, "paused", ["running"]);
  const { result, calls } = await working;
  expect(result).toEqual({ kind: "parked" });
  expect(calls.map(({ method }) => method)).toEqual(["POST"]);
  expect((await work.triesOf(runId)).get(0)?.sentAtMs).toBeDefined();

  await ledger.move(runId, "running", ["paused"]);
  const later = await work.execute(runId, losingFirst(shows("terminated")));
  expect(later.calls.map(({ method }) => method)).toEqual(["GET"]);
  expect(await work.rows(runId)).toMatchObject([{ outcome: "done" }]);
});

it("a pause while the read-back of a row that was sent before waits for the quota does not fail the job", async () => {
  const runId = await setup(terminate);
  const sentAtMs = clock.wallMs();
  await ledger.markSent(runId, 0, { place: 0, tries: { attempts: 0, reason: "", sentAtMs } });
  const { working } = await workUntilWaiting(runId, losingFirst(shows("active")), 0);
  await ledger.move(runId, "paused", ["running"]);
  expect((await working).result).toEqual({ kind: "parked" });
  expect((await work.triesOf(runId)).get(0)).toMatchObject({ sentAtMs });
});

it("a run of unsafe calls pauses after twenty lost answers in a row of several segments", async () => {
  const segment = Array.from({ length: 8 }, () => 1);
  const runId = await setup(sendSms, [segment, segment, segment, segment, segment]);
  const segments = [0, 1, 2, 3, 4];
  const { result, calls } = await work.execute(runId, (request) => request.socket.destroy(), { segments });
  expect(result).toMatchObject({ kind: "postponed", scope: "job" });
  expect(calls).toHaveLength(20);
  const answering = await work.execute(runId, (_, response) => answer(response, 200, {}), { segments });
  expect(answering.result).toMatchObject({ kind: "finished" });
  expect(answering.calls).toHaveLength(20);
});

it("a run of unsafe calls pauses after twenty lost answers in a row instead of losing the answer of every row", async () => {
  const runId = await setup(sendSms, [Array.from({ length: 80 }, () => 1)]);
  const { result, calls } = await work.execute(runId, (request) => request.socket.destroy(), { lanes: 4 });
  expect(result).toMatchObject({ kind: "postponed", delayMs: 30_000, scope: "job" });
  expect(calls.length).toBeGreaterThanOrEqual(20);
  expect(calls.length).toBeLessThanOrEqual(24);
  const outcomes = (await work.rows(runId)).map(({ outcome }) => outcome);
  expect(outcomes.filter((outcome) => outcome === "unknown")).toHaveLength(calls.length);
  expect(outcomes.filter((outcome) => outcome === "pending")).toHaveLength(80 - calls.length);
});

/** The calls of two processes, of which the second has taken over from the first, and has marked a row as sent. */
async function takeOver(runId: string) {
  const callsOf = () =>
    new UnsafeCalls({ ledger, clock, runId, segment: 0, tries: new Map(), signal: new AbortController().signal });
  const [first, second] = [callsOf(), callsOf()];
  await first.markSent(0);
  await first.unmark(0);
  await second.markSent(0);
  return { first, second };
}

it("a process that has lost its job takes back no mark of the one that took over", async () => {
  const runId = await setup(sendSms);
  const { first, second } = await takeOver(runId);
  const mark = (await work.triesOf(runId)).get(0);
  // Late writes of the first process: its response was a 429, or its record is to be read later.
  await first.unmark(0);
  await first.readLater(0, 1_000);
  await ledger.recordTries(runId, 0, new Map([[0, { attempts: 1, reason: "timeout" }]]));
  expect((await work.triesOf(runId)).get(0)).toEqual(mark);
  expect(mark?.sentAtMs).toBeDefined();
  await second.unmark(0);
  expect((await work.triesOf(runId)).get(0)?.sentAtMs).toBeUndefined();
});
