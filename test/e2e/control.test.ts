/** Control of a run: started, bounded, paused, stopped and resumed. */
import { userInfo } from "node:os";
import { describe, expect, test } from "vitest";
import { column, counted, runIdIn } from "./support/results.ts";
import { CliHarness, type CliHarnessOptions } from "./support/cli-harness.ts";
import type { Ended, RunningProcess } from "./support/process.ts";

/** The user of the operating system, as runs and events name them. */
const actor = `cli:${userInfo().username}`;

/** Slow enough to send a command while a run is in progress. */
const unhurried = { latencyMs: 40, env: { SIMFLEET_CONNECTIONS: "4" } } as const;

/** A quota that holds the run up until it is raised. */
const heldUp = { limits: { Sim: 12 }, periodSeconds: 5 } as const;

/** A harness with a file of this many rows. */
const setup = (rows: number, options: CliHarnessOptions = {}): Promise<CliHarness> =>
  CliHarness.open({ ...options, rows });

/** Applies the file in a process of its own, which has made ten changes. */
async function beginApply(harness: CliHarness): Promise<RunningProcess> {
  const apply = harness.start(["apply", "fleet.csv", "--yes"]);
  await harness.untilChanges(10);
  return apply;
}

/** Presses Ctrl-C in the middle of `apply`. @returns how it ended, and its run */
async function interruptApply(harness: CliHarness): Promise<Ended & { runId: string }> {
  const apply = await beginApply(harness);
  apply.kill("SIGINT");
  const ended = await apply.ended;
  return { ...ended, runId: runIdIn(ended.stderr) };
}

/** Pauses a run that the quota holds up, in the middle of `apply`. */
async function pauseApply(harness: CliHarness) {
  const apply = await beginApply(harness);
  const runId = runIdIn((await apply.said(/Run (r-\S+) started/))[0]);
  const paused = await harness.json(["runs", "pause", runId]);
  return { runId, paused, held: await apply.ended };
}

/** Withdraws the AuthKey in the middle of `apply`: the pair ends, and only the new AuthKey gets another. */
async function withdrawAuthKey(harness: CliHarness) {
  const apply = await beginApply(harness);
  const { accounts, options } = harness.sandbox;
  accounts.revoke(undefined, options.authKeyId);
  const { authKeyId, authKey } = accounts.authKeys.create(undefined);
  accounts.expirePairs();
  const refused = await apply.ended;
  const newKey = { SIMFLEET_AUTH_KEY_ID: authKeyId, SIMFLEET_AUTH_KEY: authKey };
  return { refused, runId: runIdIn(refused.stderr), newKey };
}

async function outcomesOf(harness: CliHarness, runId: string): Promise<Record<string, number>> {
  return counted(column((await harness.run(["runs", "results", runId])).stdout, "outcome"));
}

describe.concurrent("runs", () => {
  // Shows S18.
  test("a large run waits until another user approves it", async () => {
    await using harness = await setup(5, { env: { SIMFLEET_CHANGES_APPROVAL_ABOVE: "5" } });
    expect(await harness.json(["apply", "fleet.csv", "--yes"])).toMatchObject({ document: { state: "completed" } });
    await harness.fleet("many.csv", 6);
    const before = harness.changes;
    const submitted = await harness.json(["apply", "many.csv", "--yes", "--send-unchanged"]);
    expect(submitted).toMatchObject({ code: 1, document: { state: "awaiting-approval", startedAt: null } });
    const { runId } = submitted.document;
    expect(submitted.stderr).toContain(`is waiting for approval by someone else: simfleet runs approve ${runId}`);
    const why = expect.stringMatching(/was submitted by cli:.*: someone else has to approve it/) as string;
    expect(await harness.run(["runs", "approve", runId])).toMatchObject({ code: 2, stderr: why });
    expect(harness.changes).toBe(before);
    const cancelled = await harness.json(["runs", "cancel", runId]);
    expect(cancelled.document).toMatchObject({ state: "cancelled", counts: { cancelled: 6 } });
  });

  test("a run stays within its own rate limit according to the platform's records", async () => {
    await using harness = await setup(20);
    const applied = await harness.json(["apply", "fleet.csv", "--yes", "--rate", "240"]);
    expect(applied).toMatchObject({ code: 0, document: { counts: { done: 20 } } });
    const windows = harness.sandbox.throttle.windows("Sim").map(({ accepted }) => accepted);
    // 240 a minute are 8 in each window of 2 s, with one more at an edge.
    expect(Math.max(...windows)).toBeLessThanOrEqual(9);
    const { startedAt, finishedAt } = applied.document;
    expect(Date.parse(finishedAt ?? "") - Date.parse(startedAt ?? "")).toBeGreaterThanOrEqual(4_500);
  });

  test("a run with --detach waits until the first worker starts and says so", async () => {
    await using harness = await setup(30);
    const detached = await harness.json(["apply", "fleet.csv", "--yes", "--detach"]);
    expect(detached).toMatchObject({ code: 0, document: { state: "running", counts: { pending: 30 } } });
    const { runId } = detached.document;
    expect(detached.stderr).toContain(
      `No worker is running: the run starts with the next one (simfleet worker), or with: simfleet runs resume ${runId}\n`,
    );
    expect(harness.changes).toBe(0);
    await harness.worker();
    await harness.untilState(runId, "completed");
    expect(harness.changes).toBe(30);
  });
});

describe.concurrent("control of runs in progress", () => {
  test("a run in progress can be paused, which apply reports", async () => {
    await using harness = await setup(100, heldUp);
    const { runId, paused, held } = await pauseApply(harness);
    expect(paused).toMatchObject({ code: 0, document: { state: "paused", reason: `paused by ${actor}` } });
    expect(held.code).toBe(1);
    expect(held.stderr).toContain(
      `The run was paused (paused by ${actor}). Resume with: simfleet runs resume ${runId}\n`,
    );
    const before = harness.changes;
    // Rows in line for the quota are kept back as well: no more than one window's calls went out meanwhile.
    expect(before - paused.document.counts.done).toBeLessThanOrEqual(heldUp.limits.Sim);
    const shown = await harness.json(["runs", "show", runId]);
    expect(shown.document.counts).toMatchObject({ done: before, pending: 100 - before });
  });

  test("a paused run is completed when it is resumed", async () => {
    await using harness = await setup(100, heldUp);
    const { runId } = await pauseApply(harness);
    harness.sandbox.throttle.changeLimit({ group: "Sim", limit: 2_000, afterMs: 0 });
    const resumed = await harness.json(["runs", "resume", runId]);
    expect(resumed).toMatchObject({ code: 0, document: { state: "completed", counts: { done: 100 } } });
    expect(resumed.document).not.toHaveProperty("reason");
    expect(harness.changes).toBe(100);
  });

  test("Ctrl-C leaves a run resumable and prints how to resume it", async () => {
    await using harness = await setup(100, unhurried);
    const { code, stderr, runId } = await interruptApply(harness);
    expect(code).toBe(130);
    expect(stderr).toMatch(/Stopping: waiting for calls in flight …\n/);
    expect(stderr).toMatch(/Paused\. \d+ rows left; nothing is lost\.\n/);
    expect(stderr).toContain(`Resume with: simfleet runs resume ${runId}\n`);
    const { done = 0, pending = 0 } = await outcomesOf(harness, runId);
    expect(done).toBe(harness.changes);
    expect(done + pending).toBe(100);
  });

  test("a run that was stopped with Ctrl-C is completed by a resume, which writes its results", async () => {
    await using harness = await setup(100, unhurried);
    const { runId } = await interruptApply(harness);
    const resumed = await harness.run(["runs", "resume", runId]);
    expect(resumed.code).toBe(0);
    expect(resumed.stdout).toContain("100 of 100 done\n");
    expect(resumed.stdout).not.toContain("Ctrl-C");
    const results = `fleet.${runId}.results.csv`;
    expect(resumed.stderr).toMatch(/\nResults: .*\nSuccess: all 100 rows are done\.\n$/);
    expect(resumed.stderr).toContain(`Results: ${results}\n`);
    expect((await harness.read(results)).split("\n")).toHaveLength(102);
    expect(await outcomesOf(harness, runId)).toEqual({ done: 100 });
    expect(harness.changes).toBe(100);
  });

  test("a run continues in its worker when Ctrl-C only ends the progress display", async () => {
    await using harness = await setup(60, unhurried);
    await harness.worker();
    const { stderr, runId } = await interruptApply(harness);
    expect(stderr).toContain(`The run continues in its worker. Follow it with: simfleet runs watch ${runId}\n`);
    const results = `simfleet runs results ${runId} --out fleet.${runId}.results.csv`;
    expect(stderr).toContain(`Get its results with: ${results}\n`);
    await harness.untilState(runId, "completed");
    expect(harness.changes).toBe(60);
  });

  test("a run is handed back when its worker stops, and the next worker completes it", async () => {
    await using harness = await setup(60, unhurried);
    const { document } = await harness.json(["apply", "fleet.csv", "--yes", "--detach"]);
    const worker = await harness.worker();
    await harness.untilChanges(10);
    const stopped = await worker.end();
    expect(stopped.code).toBe(0);
    expect(stopped.stderr).toContain("the worker has stopped");
    await harness.worker();
    await harness.untilState(document.runId, "completed");
    expect(await outcomesOf(harness, document.runId)).toEqual({ done: 60 });
    expect(harness.changes).toBe(60);
  });

  test("a run stops when the platform refuses the account", async () => {
    await using harness = await setup(60, unhurried);
    const { refused, runId } = await withdrawAuthKey(harness);
    expect(refused.code).toBe(3);
    expect(refused.stderr).toContain(
      "The platform rejected the credentials: auth: not authorized (401 AUM0011: The credentials are not correct). " +
        "Check SIMFLEET_AUTH_KEY_ID and SIMFLEET_AUTH_KEY.\n",
    );
    expect((await harness.run(["runs", "resume", runId])).code).toBe(3);
  });

  test("a run that the platform refused is resumed with new credentials, at once", async () => {
    await using harness = await setup(60, unhurried);
    const { runId, newKey } = await withdrawAuthKey(harness);
    expect((await harness.run(["runs", "resume", runId])).code).toBe(3);
    // The rows were to be tried again after half a minute: a user who resumes does not wait for that.
    const beforeMs = performance.now();
    const resumed = await harness.json(["runs", "resume", runId], newKey);
    expect(performance.now() - beforeMs).toBeLessThan(25_000);
    expect(resumed).toMatchObject({ code: 0, document: { counts: { done: 60 } } });
    expect(await outcomesOf(harness, runId)).toEqual({ done: 60 });
    expect(harness.changes).toBe(60);
  });
});
