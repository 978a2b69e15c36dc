/** The way of a user with a file, from the token to the results, against a real worker. */
import { readFile } from "node:fs/promises";
import type { Locator, Page } from "playwright-core";
import { expect, it } from "vitest";
import { isLong } from "../support/long.ts";
import { press, signIn } from "./support/browser.ts";
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

/** What is chosen as a file: a new class for 60 SIMs, and a row that is not valid. */
async function chosen() {
  const csv = `${await harness.csv(60, ["s1.minimum"])}8.94231E+18,s1.minimum,ruined\n`;
  return { name: "fleet.csv", mimeType: "text/csv", buffer: Buffer.from(csv) };
}

/** Has the worker carry out a run to its end. */
async function ended(path: string, csv?: string): Promise<string> {
  const { runId } = await harness.ask<{ runId: string }>(path, { method: "POST", ...(csv && { csv }) });
  await harness.ended(runId);
  return runId;
}

const endedOfFile = async () => ended("/v1/runs?partial=true", (await chosen()).buffer.toString());
const changes = /set-speed-class on OP0000000001 \(default\): .*s1\.fast → s1\.minimum \d+/;

const changeLimit = (limit: number): void =>
  harness.cli.sandbox.throttle.changeLimit({ group: "Sim", limit, afterMs: 0 });

/** A page as large as a laptop's. */
async function setup(path: string, token: string = tokens.operator) {
  changeLimit(1_000);
  const { page } = await harness.page({ width: 1280, token });
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.goto(path);
  const height = (): Promise<number> => page.evaluate("document.documentElement.scrollHeight");
  return { page, main: page.locator("main"), dialog: page.getByRole("dialog"), height };
}

/** Clicks on what can be used, and counts. */
function countClicks() {
  let count = 0;
  const click = async (target: Locator): Promise<void> => {
    await expect.poll(() => target.getAttribute("aria-disabled")).toBeNull();
    count += 1;
    await target.click();
  };
  return { click, count: () => count };
}

/** Chooses the file by a click. @returns its plan, which says what changes */
async function choosePlan(page: Page, click: (target: Locator) => Promise<void>): Promise<Locator> {
  const choosing = page.waitForEvent("filechooser");
  await click(page.getByLabel("CSV file", { exact: true }));
  await (await choosing).setFiles(await chosen());
  const plan = page.getByRole("region", { name: "Plan", exact: true });
  await plan.getByText(changes).waitFor();
  await plan.getByLabel(/^Skip \d+ unchanged, saves \d+ calls?$/).waitFor();
  return plan;
}

/** Waits until the page shows a run that has ended so. @returns its id */
async function untilEnded(page: Page, state: string): Promise<string> {
  await page.waitForURL(/#\/runs\/r-/);
  await page.getByText(state, { exact: true }).waitFor();
  return page.url().split("/").at(-1) ?? "";
}

/**
 * The run of a file that a user signed in for, dropped and started. Its quota is so narrow that it cannot end before it
 * is paused.
 */
async function startDropped(width: number) {
  changeLimit(10);
  // Other classes for each width: rows that change nothing are not sent.
  const classes = width > 600 ? ["s1.slow", "s1.fast"] : ["s1.fast", "s1.slow"];
  const file = await harness.cli.fleet("fleet.csv", 240, classes);
  const watched = await harness.open("/#/new", { width });
  const { page } = watched;
  await signIn(page, tokens.operator);
  await page.getByLabel("Name", { exact: true }).fill("by hand");
  if (width > 600) await drop(page, await harness.cli.read(file));
  else await page.getByLabel("CSV file", { exact: true }).setInputFiles(harness.cli.path(file));
  const rows = page.getByRole("table", { name: "Rows of the plan" });
  await rows.getByText(harness.cli.simId(0)).waitFor();
  await press(page, "Start the run", "Start the run");
  await page.waitForURL(/#\/runs\/r-/);
  expect(await page.title()).toBe(`Run ${page.url().split("/").at(-1) ?? ""} · simfleet`);
  await page.getByRole("heading", { name: "by hand" }).waitFor();
  const bar = page.getByRole("progressbar", { name: "Rows with an outcome" });
  const done = async (): Promise<number> => Number(await bar.getAttribute("aria-valuenow"));
  return { watched, page, done };
}

/** The results that the page of a run downloads are those of the command. */
async function expectSameResults(page: Page): Promise<void> {
  const runId = page.url().split("/").at(-1) ?? "";
  const coming = page.waitForEvent("download");
  await page.getByRole("button", { name: "Results" }).click();
  const download = await coming;
  expect(download.suggestedFilename()).toBe(`${runId}.results.csv`);
  const results = await harness.cli.run(["runs", "results", runId, "--out", "by-command.csv"]);
  expect(results.code).toBe(0);
  expect(await readFile(await download.path(), "utf8")).toBe(await harness.cli.read("by-command.csv"));
}

describeInBrowser(
  "the dashboard",
  async () => {
    harness = await WebHarness.open({ periodSeconds: 1 });
    await harness.sync();
    return harness;
  },
  () => {
    it("a file is uploaded and started in six clicks, and every step says what changes", async () => {
      const { page, main, dialog } = await setup("/");
      const { click, count } = countClicks();
      await click(page.getByRole("link", { name: "Runs", exact: true }));
      await click(main.getByRole("link", { name: "New run" }));
      const plan = await choosePlan(page, click);
      await click(plan.getByLabel("Skip 1 invalid row"));
      await click(plan.getByRole("button", { name: "Start the run" }));
      await dialog.getByText(changes).waitFor();
      await click(dialog.getByRole("button", { name: "Start the run" }));
      const runId = await untilEnded(page, "completed, 1 not done");
      await main.getByText(changes).waitFor();
      expect(count()).toBeLessThanOrEqual(6);
      await ended(`/v1/runs/${runId}/undo`);
    });

    it("the summary tells what happened since a time, in one screen", async () => {
      const { page, height } = await setup("/#/activity", tokens.viewer);
      const failed = page.getByRole("region", { name: "Failed, late or waiting for you" });
      await failed.getByText(/completed: \d+ of 61 rows done, 1 rejected/).waitFor();
      const others = page.getByRole("region", { name: "Also ended" });
      await others.getByText(/completed: \d+ of \d+ rows done/).waitFor();
      const counts = page.getByRole("region", { name: "Counts" });
      expect(await counts.innerText()).toMatch(/Runs ended\s+2\s+1 with rows not done/);
      for (const said of ["Schedules", "Secrets", "Other problems", "External changes", "Rate-limited (429)"])
        expect(await counts.getByText(said).count()).toBe(1);
      expect(await height()).toBeLessThanOrEqual(900);
      await page.getByLabel("Since a time").fill("2099-01-01T00:00");
      await page.getByText("Nothing failed, ran late or needs your attention.").waitFor();
      expect(page.url()).toContain("since=2099");
    });

    it("a run is undone in two clicks, and the question says what changes", async () => {
      const runId = await endedOfFile();
      const { page, main, dialog } = await setup(`/#/runs/${runId}`);
      await main.getByRole("button", { name: "Undo" }).click();
      await dialog.getByText(/s1\.minimum → s1\.fast \d+/).waitFor();
      await dialog.getByRole("button", { name: /^Restore \d+ SIMs$/ }).click();
      await page.waitForURL((url) => !url.hash.endsWith(runId));
      await untilEnded(page, "completed");
      expect(harness.cli.sandbox.state.sims.speedClassAt(0)).not.toBe("s1.minimum");
    });

    it("the button that starts a run stays in sight wherever one reads its plan", async () => {
      const { page } = await setup("/#/new");
      await page.getByLabel("CSV file", { exact: true }).setInputFiles(await chosen());
      const plan = page.getByRole("region", { name: "Plan", exact: true });
      await plan.getByText(changes).waitFor();
      for (const at of ["0", "document.body.scrollHeight / 2", "document.body.scrollHeight"]) {
        await page.evaluate(`scrollTo(0, ${at})`);
        const box = await plan.getByRole("button", { name: "Start the run" }).boundingBox();
        const { y = -1, height = 0 } = box ?? {};
        expect(y).toBeGreaterThanOrEqual(0);
        expect(y + height).toBeLessThanOrEqual(900);
      }
    });

    it("a run that was undone cannot be undone again, and the audit log says what undid what", async () => {
      const runId = await endedOfFile();
      const undoing = await ended(`/v1/runs/${runId}/undo`);
      const { main, dialog } = await setup(`/#/runs/${runId}`);
      await main.getByRole("button", { name: "Undo" }).click();
      const restore = dialog.getByRole("button", { name: "Restore 0 SIMs" });
      await expect.poll(() => restore.getAttribute("title")).toMatch(/^nothing to restore/);
      const { page } = await setup("/#/audit", tokens.admin);
      const entries = page.getByRole("table", { name: "Changes" }).getByRole("row");
      const undone = entries.filter({ hasText: `undid ${runId} by ${undoing}` });
      await undone.waitFor();
      expect(await undone.getByRole("link").count()).toBe(2);
      const hasText = /set-speed-class on OP0000000001 \(default\): .+ → s1\.minimum \d+/;
      await entries.filter({ hasText: "started a run" }).filter({ hasText }).first().waitFor();
    });

    it("the whole page of a run is two screens, says what changed, and names the run once", async () => {
      const runId = await endedOfFile();
      const { page, main, height } = await setup(`/#/runs/${runId}`);
      await main.getByText(changes).waitFor();
      await main.getByText(/^\d+ of 61 done/).waitFor();
      await main.getByRole("img", { name: /^Calls per / }).waitFor();
      await page.getByRole("table", { name: "Rows of the run" }).getByRole("row").nth(10).waitFor();
      expect(await height()).toBeLessThanOrEqual(1_800);
      expect((await main.innerText()).split(runId).length - 1).toBe(1);
    });

    it.each(isLong ? [1280, 360] : [1280])("a dropped file is paused and resumed at %d px width", async (width) => {
      const { watched, page, done } = await startDropped(width);
      await expect.poll(done, { timeout: 20_000 }).toBeGreaterThan(0);
      await page.getByRole("button", { name: "Pause" }).click();
      await page.getByText("paused", { exact: true }).waitFor();
      await page.getByText("Nothing is lost. Resume it when you are ready.").waitFor();
      expect(await done()).toBeLessThan(240);
      changeLimit(1_000);
      await page.getByRole("button", { name: "Resume" }).click();
      await untilEnded(page, "completed");
      expect(await done()).toBe(240);
      await expectSameResults(page);
      expect(await watched.overflow()).toBe(0);
    });
  },
);
