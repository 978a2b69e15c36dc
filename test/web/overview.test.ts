/** The frame around all pages, the overview, and what a user does when rows of a run fail. */
import { readFile } from "node:fs/promises";
import type { Locator, Page } from "playwright-core";
import { expect, it } from "vitest";
import { press } from "./support/browser.ts";
import { tokens } from "./support/fixtures.ts";
import { describeInBrowser, WebHarness } from "./support/harness.ts";

/** Has the page read a response of the worker with other members. */
async function answerWith(page: Page, url: string, members: (body: Record<string, unknown>) => object): Promise<void> {
  await page.route(url, async (route) => {
    const response = await route.fetch();
    const body = (await response.json()) as Record<string, unknown>;
    await route.fulfill({ response, json: { ...body, ...members(body) } });
  });
}

/** A time in words has the whole of it in its attributes. */
async function expectWholeTime(place: Locator): Promise<void> {
  const time = place.getByRole("time");
  expect(await time.getAttribute("datetime")).toMatch(/^\d{4}-.*Z$/);
  expect(await time.getAttribute("title")).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/);
}

/** Shows the page again, with the webhook as it would be with other members. */
async function reloadWith(page: Page, members: object): Promise<void> {
  await answerWith(page, "**/v1/webhooks", ({ webhooks }) => ({
    webhooks: (webhooks as object[]).map((one) => ({ ...one, ...members })),
  }));
  await page.reload();
}

let harness: WebHarness;
let runId: string;
const missing = [7, 8, 9].map((n) => `894231999999999999${n}`);

interface RunSummary {
  readonly windows: readonly { readonly at: string }[];
  readonly windowSeconds: number;
}

const axisWidth = 56;

/** Number of windows from the first call of the run to its last, as the page gets them; they may shift later. */
async function windowsOfRun(page: Page): Promise<number> {
  const response = page.waitForResponse((one) => one.url().includes(`${runId}/summary`));
  await page.reload();
  const { windows, windowSeconds } = (await (await response).json()) as RunSummary;
  const [firstMs = 0, lastMs = 0] = [windows[0], windows.at(-1)].map((one) => Date.parse(one?.at ?? ""));
  return Math.round((lastMs - firstMs) / (windowSeconds * 1_000)) + 1;
}

async function setup(path: string, token: string = tokens.viewer) {
  const { page } = await harness.open(path, { width: 1280, token });
  /** Retries rows of the run of the page, and goes to the run that does. */
  const retry = async (button: string, confirmed: string): Promise<void> => {
    await press(page, button, confirmed);
    await page.waitForURL((url) => url.hash.includes("/r-") && !url.hash.includes(runId));
  };
  return { page, retry };
}

describeInBrowser(
  "the overview",
  async () => {
    harness = await WebHarness.open({ sims: 60, periodSeconds: 1 });
    await harness.sync();
    const csv = `${await harness.csv(5)}${missing.map((sim) => `${sim},s1.fast,gone\n`).join("")}`;
    const path = "/v1/runs?partial=true&name=night";
    ({ runId } = await harness.ask<{ runId: string }>(path, { method: "POST", csv, as: "operator" }));
    await harness.ended(runId);
    return harness;
  },
  () => {
    it("the overview names what failed and what comes next, each with a link", async () => {
      const watched = await harness.open("/", { width: 360, token: tokens.viewer });
      const { page } = watched;
      await page.getByText("No run is in progress.").waitFor();
      // On a slow machine, a sync or the run may have had a problem besides.
      const failures = page.getByRole("region", { name: "Failed in the last 24 hours" }).getByRole("listitem");
      const failed = failures.filter({ hasText: "completed" });
      await failed.getByText("night").waitFor();
      expect(await failed.textContent()).toMatch(/Run r-.* “night” completed: 5 of 8 rows done, 3 rejected$/);
      await page.getByRole("region", { name: "Next schedules" }).getByText("nightly-sync").waitFor();
      await expectWholeTime(failed);
      await failed.getByRole("link", { name: runId }).click();
      await page.getByRole("navigation", { name: "Breadcrumbs" }).getByRole("link", { name: "Runs" }).waitFor();
      expect(await watched.overflow()).toBe(0);
    });

    it("the overview does not say that nothing waits while that is not known", async () => {
      const { page } = await harness.page({ width: 1280, token: tokens.viewer });
      await page.route(/\/v1\/rotations/, () => undefined);
      await page.goto("/");
      await page.getByRole("region", { name: "Needs action" }).getByText("Loading …").waitFor();
      await page.unroute(/\/v1\/rotations/);
      await reloadWith(page, { state: "active" });
      await page.getByRole("region", { name: "Needs action" }).getByText("Nothing needs action.").waitFor();
      await reloadWith(page, { state: "failing", reason: "it answered 404" });
      const webhook = page.getByRole("region", { name: "Needs action" }).getByRole("listitem").first();
      await expect.poll(() => webhook.textContent()).toMatch(/^failingWebhook \w+: it answered 404$/);
    });

    it("a run page draws its calls and rows as charts, whose numbers a screen reader hears", async () => {
      const { page } = await setup(`/#/runs/${runId}`);
      const bars = await windowsOfRun(page);
      await page.getByRole("img", { name: /^Calls per .*; calls: 8 in total, \d at most/ }).waitFor();
      await page.getByRole("img", { name: /^Rows per .*: 5 in total, \d at most; not done: 3 in total/ }).waitFor();
      // A bar for each window, in one path: the first starts within its share of the chart, and the last ends in the
      // chart.
      const chart = page.getByRole("img", { name: /^Calls per / });
      const box = (await chart.boundingBox()) ?? { x: 0, width: 0 };
      const bar = (await chart.locator("path[fill]").first().boundingBox()) ?? { x: 0, width: 0 };
      const share = (box.width - axisWidth) / bars;
      expect(bar.x - box.x - axisWidth).toBeGreaterThan(-1);
      expect(bar.x - box.x - axisWidth).toBeLessThan(share / 2);
      expect(bar.x + bar.width).toBeLessThan(box.x + box.width + 1);
    });

    it("a run page says what was done, and its rejected rows are downloaded", async () => {
      const { page } = await setup(`/#/runs/${runId}`, tokens.operator);
      await page.getByText("5 of 8 done").waitFor();
      await page.getByText("completed, 3 not done", { exact: true }).waitFor();
      await page.getByText(/^set-speed-class on OP0000000001 \(default\): .+ → .+/).waitFor();
      const coming = page.waitForEvent("download");
      await page.getByRole("button", { name: "Download rejected rows" }).click();
      const lines = (await readFile(await (await coming).path(), "utf8")).trim().split(/\r?\n/);
      expect(lines.slice(1).map((line) => line.split(",")[0])).toEqual(missing);
    });

    it("a row that is not done is searched and retried alone", async () => {
      const { page, retry } = await setup(`/#/runs/${runId}`, tokens.operator);
      const reasons = page.getByRole("table", { name: "Why rows are not done" });
      const show = reasons.getByRole("link", { name: /^Show the rows/ });
      await show.first().click();
      const rows = page.getByRole("table", { name: "Rows of the run" }).getByRole("row");
      await expect.poll(() => rows.count()).toBe(4);
      await page.getByLabel("SIM ID or IMSI").fill("99998");
      await expect.poll(() => rows.count()).toBe(2);
      await retry("Retry line 8", "Retry 1 row");
      const sim = page.getByText(missing[1] ?? "");
      await sim.first().waitFor();
      // A retry that did nothing is not green.
      await page.getByText("completed, 1 not done", { exact: true }).waitFor();
    });

    it("all rows that are not done are retried together", async () => {
      const { page, retry } = await setup(`/#/runs/${runId}`, tokens.operator);
      await retry("Retry these 3", "Retry 3 rows");
      await page.getByText("0 of 3 done").waitFor();
    });

    it("the quotas are one table, the busiest first, with the windows of the chosen one", async () => {
      const { page } = await harness.page({ width: 1280, token: tokens.viewer });
      // Once a minute the worker reads credentials: without the calls of others, those of SIMs are always the most.
      await answerWith(page, "**/v1/buckets", ({ buckets }) => ({
        buckets: (buckets as { group: string }[]).map((one) => (one.group === "Sim" ? one : { ...one, windows: [] })),
      }));
      await page.goto("/#/quota");
      const rows = page.getByRole("table", { name: "Quotas" }).getByRole("row");
      await page.getByRole("heading", { name: "Sim of OP0000000001", level: 2 }).waitFor();
      expect(await rows.nth(1).innerText()).toContain("Sim of OP0000000001");
      await page.getByRole("img", { name: /^Calls in the last .*; limit: 2,000/ }).waitFor();
      await rows.getByRole("link", { name: /^Auth from / }).click();
      await page.getByRole("heading", { name: /^Auth from /, level: 2 }).waitFor();
      expect(page.url()).toContain("bucket=");
    });

    it("Ctrl-K finds schedules, SIMs and runs, and leads to what is found", async () => {
      const { page } = await setup("/#/sims");
      await page.getByRole("heading", { name: "SIMs", level: 1 }).waitFor();
      const input = page.getByRole("combobox", { name: "Search and commands" });
      await page.keyboard.press("Control+k");
      await input.fill("night");
      await page.getByRole("option", { name: /^night r-.*Run$/ }).waitFor();
      await page.getByRole("option", { name: /nightly-sync/ }).waitFor();
      const sim = harness.cli.simId(3);
      await input.fill(sim);
      await page.getByRole("option", { name: sim }).waitFor();
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: `SIM ${sim}`, level: 1 }).waitFor();
      expect(await page.evaluate<string>("document.activeElement.tagName")).toBe("MAIN");
    });

    it("the ID of a SIM is copied", async () => {
      const sim = harness.cli.simId(3);
      const { page } = await setup(`/#/sims/${sim}`);
      await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
      const copy = page.getByRole("button", { name: `Copy ${sim}` });
      await copy.first().click();
      expect(await page.evaluate<string>("navigator.clipboard.readText()")).toBe(sim);
    });

    it("keys lead to pages", async () => {
      const { page } = await setup("/#/sims");
      await page.getByRole("heading", { name: "SIMs", level: 1 }).waitFor();
      await page.keyboard.press("g");
      await page.keyboard.press("q");
      await page.getByRole("heading", { name: "Quota", level: 1 }).waitFor();
    });

    it("an address without a page says so", async () => {
      const { page } = await setup("/#/no-such-page");
      await page.getByText("There is no page at this address").waitFor();
    });

    it("scripts come compressed and may be kept forever", async () => {
      const page = await (await fetch(harness.origin)).text();
      const [script = ""] = /\/assets\/[\w.-]+\.js/.exec(page) ?? [];
      for (const [accepted, sent] of [
        ["br", "br"],
        ["gzip", "gzip"],
        ["identity", null],
      ] as const) {
        const answer = await fetch(harness.origin + script, { headers: { "accept-encoding": accepted } });
        expect(answer.headers.get("content-encoding")).toBe(sent);
        expect(answer.headers.get("content-type")).toContain("javascript");
        expect(answer.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
        expect(await answer.text()).toContain("simfleet");
      }
    });
  },
);
