/** Pages that change by themselves: events as they happen, and a worker that goes away and comes back. */
import { expect, it } from "vitest";
import { tokens } from "./support/fixtures.ts";
import { describeInBrowser, WebHarness } from "./support/harness.ts";

let harness: WebHarness;

/** The live events, and a way to start a run of two SIMs. */
async function setup() {
  const { page } = await harness.page({ width: 1280, token: tokens.operator });
  const resumedFrom: (string | undefined)[] = [];
  page.on("request", (request) => {
    if (request.headers().accept === "text/event-stream") resumedFrom.push(request.headers()["last-event-id"]);
  });
  await page.goto("/#/activity/events");
  await page.getByText("Live", { exact: true }).waitFor();
  const csv = await harness.csv(2);
  const start = async (): Promise<string> =>
    (await harness.ask<{ runId: string }>("/v1/runs", { method: "POST", csv })).runId;
  const rows = page.getByRole("table", { name: "Events" }).getByRole("row");
  /** Waits for the event that a run has completed. */
  const untilCompleted = (runId: string): Promise<void> =>
    rows.filter({ hasText: "run.completed" }).getByRole("link", { name: runId }).waitFor();
  return { page, start, rows, untilCompleted, resumedFrom };
}

describeInBrowser(
  "live updates of the dashboard",
  async () => (harness = await WebHarness.open()),
  () => {
    it("the event view shows events as they happen and stays unchanged while paused", async () => {
      const { page, start, rows, untilCompleted } = await setup();
      await untilCompleted(await start());
      await page.getByRole("button", { name: "Pause" }).click();
      const before = await rows.count();
      await start();
      await page.getByRole("button", { name: /^Resume \([1-9]/ }).waitFor();
      expect(await rows.count()).toBe(before);
      await page.getByRole("button", { name: /^Resume/ }).click();
      await expect.poll(() => rows.count()).toBeGreaterThan(before);
    });

    it("the event view shows only the chosen types", async () => {
      const { page, start, untilCompleted } = await setup();
      await untilCompleted(await start());
      await page.getByRole("checkbox", { name: "Syncs" }).check();
      await page.getByText("No event matches.").waitFor();
      expect(page.url()).toContain("type=sync");
    });

    it("the event view reports a lost connection and misses no event after it reconnects", async () => {
      const { page, start, untilCompleted, resumedFrom } = await setup();
      await untilCompleted(await start());
      await harness.stopWorker();
      await page.getByText("Connection lost, trying again").waitFor();
      const csv = await harness.cli.fleet("meanwhile.csv", 3);
      const meanwhile = await harness.cli.json(["apply", csv, "--yes"]);
      await harness.startWorker();
      await page.getByText("Live", { exact: true }).waitFor();
      await untilCompleted(meanwhile.document.runId);
      expect(resumedFrom[0]).toBeUndefined();
      expect(resumedFrom.at(-1)).toMatch(/^\d+-\d+$/);
    });
  },
);
