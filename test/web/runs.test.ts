/** Every button of a run, pressed as a user would, and what the worker and the platform know of it afterwards. */
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { until } from "../support/until.ts";
import type { RunDocument } from "../e2e/support/cli-harness.ts";
import { press } from "./support/browser.ts";
import { tokens } from "./support/fixtures.ts";
import { describeInBrowser, WebHarness } from "./support/harness.ts";

let harness: WebHarness;

function shown(runId: string): Promise<RunDocument> {
  return harness.ask<RunDocument>(`/v1/runs/${runId}`);
}

function untilState(runId: string, state: string): Promise<void> {
  return until(`${runId} is ${state}`, async () => (await shown(runId)).state === state);
}

/** A run that has ended so, and of which no call is in flight any more. */
async function ended(runId: string, state: string): Promise<RunDocument> {
  await untilState(runId, state);
  await until("its last call has ended", async () => (await shown(runId)).counts.pending === 0);
  return shown(runId);
}

/** Hands a run in as the operator, and opens it. */
async function submitted(page: Page, name: string, csv: string): Promise<string> {
  const path = `/v1/runs?partial=true&skipUnchanged=false&name=${name}`;
  const { runId } = await harness.ask<RunDocument>(path, { method: "POST", csv, as: "operator" });
  await page.goto(`/#/runs/${runId}`);
  await page.getByRole("heading", { name, level: 1 }).waitFor();
  return runId;
}

/** Where a press has led to, which is another run, once that is completed. */
async function runAfter(page: Page, runId: string): Promise<RunDocument> {
  await page.waitForURL((url) => /#\/runs\/r-/.test(url.hash) && !url.hash.endsWith(runId));
  return ended(new URL(page.url()).hash.slice("#/runs/".length), "completed");
}

const places = Array.from({ length: 40 }, (_, n) => 200 + n);

/** A file with a class for these SIMs, and a row that is not valid. */
function csvOf(speedClass: string): string {
  const rows = places.map((place) => `${harness.cli.simId(place)},${speedClass}\n`);
  return `simId,speedClass\n8.94231E+18,${speedClass}\n${rows.join("")}`;
}

/** Chooses a file with another class for thirty SIMs. */
async function chooseNewer(page: Page): Promise<void> {
  const file = await harness.cli.fleet("newer.csv", 30, ["s1.fast"]);
  await page.goto("/#/new");
  await page.getByLabel("CSV file", { exact: true }).setInputFiles(harness.cli.path(file));
}

/** The page of a run, with a quota so narrow that the run is in progress for long, until `widen`. */
async function setup(name: string, csv: string, width = 360) {
  const { throttle } = harness.cli.sandbox;
  throttle.changeLimit({ group: "Sim", limit: 1, afterMs: 0 });
  const watched = await harness.page({ width, token: tokens.operator });
  const { page } = watched;
  const runId = await submitted(page, name, csv);
  const widen = (): void => throttle.changeLimit({ group: "Sim", limit: 2_000, afterMs: 0 });
  return { watched, page, runId, widen };
}

describeInBrowser(
  "runs in the dashboard",
  async () => {
    harness = await WebHarness.open({ periodSeconds: 1, env: { SIMFLEET_CHANGES_APPROVAL_ABOVE: "40" } });
    await harness.sync();
    return harness;
  },
  () => {
    it("a run starts only when approved by another user than its submitter", async () => {
      const before = harness.cli.changes;
      const own = await harness.page({ width: 1280, token: tokens.operator });
      const runId = await submitted(own.page, "many", await harness.csv(41));
      await press(own.page, "Approve", /^Approve and start$/);
      await own.page.getByText("someone else has to approve it").waitFor();
      expect(await shown(runId)).toMatchObject({ state: "awaiting-approval", startedAt: null });
      expect(harness.cli.changes).toBe(before);
      expect(own.faults.splice(0)).toEqual([`${harness.origin}/v1/runs/${runId}/approve answered 409`]);
      const others = await harness.open(`/#/runs/${runId}`, { width: 360, token: tokens.admin });
      await press(others.page, "Approve", /^Approve and start$/);
      expect((await ended(runId, "completed")).counts.done).toBe(41);
      expect(harness.cli.changes).toBe(before + 41);
    });

    it("a run can be cancelled, and a retry sends its remaining rows", async () => {
      const { watched, page, runId, widen } = await setup("half", csvOf("s1.4xfast"));
      await until("a row is done", async () => (await shown(runId)).counts.done > 0);
      await press(page, "Cancel", /^Cancel \d+ rows$/);
      const { done, rejected, cancelled } = (await ended(runId, "cancelled")).counts;
      await watched.putMessageAway();
      expect([rejected, done + cancelled]).toEqual([1, 40]);
      expect(cancelled).toBeGreaterThan(0);
      widen();
      await press(page, "Retry", /^Retry \d+ rows$/);
      const counts = { total: cancelled, done: cancelled };
      expect(await runAfter(page, runId)).toMatchObject({ retryOf: runId, counts });
      const classes = places.map((place) => harness.cli.sandbox.state.sims.speedClassAt(place));
      expect(new Set(classes)).toEqual(new Set(["s1.4xfast"]));
    });

    it("the plan of a run names the older run that it supersedes, and that run names it", async () => {
      const { page, runId: older, widen } = await setup("older", await harness.csv(30, ["s1.slow"]), 1280);
      await page.getByRole("button", { name: "Pause", exact: true }).click();
      await untilState(older, "paused");
      await chooseNewer(page);
      const warning = `^\\d+ SIMs? ha(?:ve|s) pending changes in run ${older}; they will be superseded$`;
      await page.getByText(new RegExp(warning)).waitFor();
      widen();
      await press(page, "Start the run", "Start the run");
      const { runId: newer } = await runAfter(page, older);
      await untilState(older, "completed");
      await page.goto(`/#/runs/${older}`);
      await page.getByText(/\d+ rows? superseded by/).waitFor();
      await page.getByRole("link", { name: newer }).first().waitFor();
    });
  },
);
