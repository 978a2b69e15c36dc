/** What the page does by itself while one looks at it: events as they happen, and a worker that goes away and comes back. */
import { expect, it } from "vitest";
import { tokens } from "./support/fixtures.ts";
import { describeInBrowser, WebHarness } from "./support/harness.ts";

let harness: WebHarness;

describeInBrowser(
  "live updates of the dashboard",
  async () => (harness = await WebHarness.open()),
  () => {
    it("the event view shows events as they happen and stays unchanged while paused", async () => {
      const { page } = await harness.page({ width: 1280, token: tokens.operator });
      await page.goto("/#/activity/events");
      await page.getByText("Live", { exact: true }).waitFor();
      const csv = await harness.cli.read(await harness.cli.fleet("two.csv", 2));
      const { runId } = await harness.ask<{ runId: string }>("/v1/runs", { method: "POST", csv });
      const events = page.getByRole("table", { name: "Events" });
      await events.getByRole("row", { name: "run.completed" }).getByRole("link", { name: runId }).waitFor();

      await page.getByRole("button", { name: "Pause" }).click();
      const before = await events.getByRole("row").count();
      await harness.ask("/v1/runs", { method: "POST", csv });
      await page.getByRole("button", { name: /^Resume \([1-9]/ }).waitFor();
      expect(await events.getByRole("row").count()).toBe(before);
      await page.getByRole("button", { name: /^Resume/ }).click();
      await expect.poll(() => events.getByRole("row").count()).toBeGreaterThan(before);

      await page.getByRole("checkbox", { name: "Syncs" }).check();
      await page.getByText("No event matches.").waitFor();
      expect(page.url()).toContain("type=sync");
    });

    it("the event view reports a lost connection and misses no event after it reconnects", async () => {
      const { page } = await harness.page({ width: 1280, token: tokens.operator });
      const resumedFrom: (string | undefined)[] = [];
      page.on("request", (request) => {
        if (request.headers().accept === "text/event-stream") resumedFrom.push(request.headers()["last-event-id"]);
      });
      await page.goto("/#/activity/events");
      await page.getByText("Live", { exact: true }).waitFor();
      const before = await harness.ask<{ runId: string }>("/v1/runs", {
        method: "POST",
        csv: await harness.cli.read("two.csv"),
      });
      const events = page.getByRole("table", { name: "Events" });
      const ended = events.getByRole("row", { name: "run.completed" });
      await ended.getByRole("link", { name: before.runId }).waitFor();
      await harness.stopWorker();
      await page.getByText("Connection lost, trying again").waitFor();
      const csv = await harness.cli.fleet("meanwhile.csv", 3);
      const meanwhile = await harness.cli.json(["apply", csv, "--yes"]);
      await harness.startWorker();
      await page.getByText("Live", { exact: true }).waitFor();
      await ended.getByRole("link", { name: meanwhile.document.runId }).waitFor();
      expect(resumedFrom[0]).toBeUndefined();
      expect(resumedFrom.at(-1)).toMatch(/^\d+-\d+$/);
    });
  },
);
