/** The way of a person with a file, from the token to the results, against a real worker. */
import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { isLong } from "../support/long.ts";
import { tokens } from "./support/fixtures.ts";
import { describeInBrowser, WebHarness } from "./support/harness.ts";

let harness: WebHarness;

/** Lets a file fall onto the place that is made for it. */
async function drop(page: Page, csv: string): Promise<void> {
  const dataTransfer = await page.evaluateHandle(
    `(() => { const carried = new DataTransfer(); carried.items.add(new File([${JSON.stringify(csv)}], "fleet.csv")); return carried; })()`,
  );
  await page.getByText("Drop a CSV file here").dispatchEvent("drop", { dataTransfer });
  await page.getByText("fleet.csv", { exact: true }).waitFor();
}

describeInBrowser(
  "the dashboard",
  async () => (harness = await WebHarness.open({ periodSeconds: 1 })),
  () => {
    it.each(isLong ? [1280, 360] : [1280])(
      "the dashboard processes a dropped file up to its results with a pause and resume at %d px width",
      async (width) => {
        // So narrow a quota that the run cannot end before it is paused, and then a wide one.
        const { throttle } = harness.cli.sandbox;
        throttle.changeLimit({ group: "Sim", limit: 10, afterMs: 0 });
        // Other classes for each width: rows that change nothing are not sent.
        const file = await harness.cli.fleet(
          "fleet.csv",
          240,
          width > 600 ? ["s1.slow", "s1.fast"] : ["s1.fast", "s1.slow"],
        );
        const watched = await harness.page({ width });
        const { page } = watched;
        await page.goto("/#/new");
        await page.getByLabel("Token", { exact: true }).fill(tokens.operator);
        await page.getByRole("button", { name: "Sign in" }).click();

        if (width > 600) await drop(page, await harness.cli.read(file));
        else await page.getByLabel("CSV file", { exact: true }).setInputFiles(harness.cli.path(file));
        await page.getByLabel("Name", { exact: true }).fill("by hand");
        await page.getByRole("button", { name: "Preview" }).click();
        const rows = page.getByRole("table", { name: "Rows of the plan" });
        await rows.getByText(harness.cli.simId(0)).waitFor();
        expect(await page.getByRole("heading", { name: "Plan" }).isVisible()).toBe(true);

        await page.getByRole("button", { name: "Start the run" }).click();
        await page.getByRole("dialog").getByRole("button", { name: "Start the run" }).click();
        await page.waitForURL(/#\/runs\/r-/);
        const runId = page.url().split("/").at(-1) ?? "";
        expect(await page.title()).toBe(`Run ${runId} · simfleet`);
        await page.getByRole("heading", { name: "by hand" }).waitFor();

        const bar = page.getByRole("progressbar", { name: "Rows with an outcome" });
        await expect
          .poll(async () => Number(await bar.getAttribute("aria-valuenow")), { timeout: 20_000 })
          .toBeGreaterThan(0);
        await page.getByRole("button", { name: "Pause" }).click();
        await page.getByText("paused", { exact: true }).waitFor();
        expect(Number(await bar.getAttribute("aria-valuenow"))).toBeLessThan(240);
        throttle.changeLimit({ group: "Sim", limit: 1_000, afterMs: 0 });
        await page.getByRole("button", { name: "Resume" }).click();
        await page.getByText("completed", { exact: true }).waitFor();
        expect(await bar.getAttribute("aria-valuenow")).toBe("240");

        const coming = page.waitForEvent("download");
        await page.getByRole("button", { name: "Results" }).click();
        const download = await coming;
        expect(download.suggestedFilename()).toBe(`${runId}.results.csv`);
        const results = await harness.cli.run(["runs", "results", runId, "--out", "by-command.csv"]);
        expect(results.code).toBe(0);
        expect(await readFile(await download.path(), "utf8")).toBe(await harness.cli.read("by-command.csv"));
        expect(await watched.overflow()).toBe(0);
      },
    );
  },
);
