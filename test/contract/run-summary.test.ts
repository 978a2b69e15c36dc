/** What a user looks at when rows of a run fail: outcomes over time, reasons, the rows of a reason, and their retry. */
import { describe, expect, test } from "vitest";
import type { RowReport, RunSummary } from "#jobs/runs/contract.ts";
import { ControlHarness } from "./support/control-harness.ts";
import { runCommand } from "./support/run-command.ts";
import { RunRequests } from "./support/run-requests.ts";

const harness = await ControlHarness.ofFile({ works: true });
const requests = new RunRequests(harness);
const unknown = [7, 8, 9].map((n) => `894231999999999999${n},s1.fast\n`).join("");
const { runId } = await requests.start("partial=true", `${harness.csv(4)}${unknown}`);
await requests.ended(runId);

describe("the summary of a run", () => {
  test("a summary counts the outcomes and calls of a run by window, and its rows by reason", async () => {
    const { windows, windowSeconds, reasons, reasonsInAll } = await requests.ask<RunSummary>(
      `/v1/runs/${runId}/summary`,
    );
    const sum = (name: "done" | "rejected" | "calls"): number => windows.reduce((all, one) => all + one[name], 0);
    expect([sum("done"), sum("rejected"), sum("calls")]).toEqual([4, 3, 7]);
    expect(windowSeconds).toBeGreaterThan(0);
    expect(reasonsInAll).toBe(reasons.length);
    expect(reasons.reduce((all, { rows }) => all + rows, 0)).toBe(3);
    const [first] = reasons;
    const rows = await requests.ask<{ rows: RowReport[] }>(
      `/v1/runs/${runId}/rows?outcome=failed&outcome=rejected&reason=${encodeURIComponent(first?.reason ?? "")}`,
    );
    expect(rows.rows).toHaveLength(first?.rows ?? 0);
  });

  test("rows of a run are found by a part of the SIM ID", async () => {
    const { rows } = await requests.ask<{ rows: RowReport[] }>(`/v1/runs/${runId}/rows?search=99998`);
    expect(rows.map(({ key }) => key)).toEqual(["8942319999999999998"]);
  });

  test("a retry by reason sends the rejected rows that share it, by HTTP and by command", async () => {
    const { reasons } = await requests.ask<RunSummary>(`/v1/runs/${runId}/summary`);
    const reason = reasons[0]?.reason ?? "";
    expect(reasons).toMatchObject([{ outcome: "rejected", rows: 3 }]);
    const planned = (text: string) => requests.planOf({ retryOf: runId, reason: text });
    expect(await planned(reason)).toMatchObject({ rows: 3, calls: 3 });
    expect(await planned("set-speed-class: rejected (…).")).toMatchObject({ rows: 3 });
    await expect(planned("another reason")).rejects.toThrow("for this reason: nothing to retry");
    const words = ["runs", "retry", runId, "--reason", reason, "--yes", "--detach"];
    const { stdout } = await runCommand(harness, words, "remote");
    expect(await requests.ended(stdout.trim())).toMatchObject({ retryOf: runId, counts: { total: 3 } });
  });

  test("a retry of a run with rejected rows alone names the option that retries them", async () => {
    const { code, stdout, stderr } = await runCommand(harness, ["runs", "retry", runId, "--yes"], "remote");
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain("are retried only if the request names their outcome, as --outcome rejected\n");
  });
});
