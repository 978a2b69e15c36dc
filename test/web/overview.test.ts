/** The frame around all pages, the overview, and what a person does when rows of a run fail. */
import { expect, it } from "vitest";
import { until } from "../support/until.ts";
import { tokens } from "./support/fixtures.ts";
import { describeInBrowser, WebHarness } from "./support/harness.ts";

let harness: WebHarness;
let runId: string;
const missing = [7, 8, 9].map((n) => `894231999999999999${n}`);

describeInBrowser(
  "the overview",
  async () => {
    harness = await WebHarness.open({ sims: 60, periodSeconds: 1 });
    await harness.sync();
    const csv = await harness.cli.read(await harness.cli.fleet("fleet.csv", 5));
    const rows = missing.map((sim) => `${sim},s1.fast,gone\n`).join("");
    ({ runId } = await harness.ask<{ runId: string }>("/v1/runs?partial=true&name=night", {
      method: "POST",
      csv: csv + rows,
      as: "operator",
    }));
    await until("the run is over", async () => {
      return (await harness.ask<{ finishedAt: string | null }>(`/v1/runs/${runId}`)).finishedAt !== null;
    });
    return harness;
  },
  () => {
    it("the overview names what failed, what comes next, and the quota used today, each with a link", async () => {
      const watched = await harness.page({ width: 360, token: tokens.viewer });
      const { page } = watched;
      await page.goto("/");
      await page.getByText("No run is in progress.").waitFor();
      const failed = page.getByRole("region", { name: "Failed in the last 24 hours" }).getByRole("listitem").first();
      await failed.getByText("night").waitFor();
      expect(await failed.textContent()).toMatch(/Run r-.* “night” completed: 5 of 8 rows done, 3 rejected$/);
      await page.getByRole("region", { name: "Next schedules" }).getByText("nightly-sync").waitFor();
      await page
        .getByRole("region", { name: "Quota use today" })
        .getByText(/^[\d,]+ calls? since 00:00 UTC/)
        .first()
        .waitFor();
      const time = failed.getByRole("time");
      expect(await time.getAttribute("datetime")).toMatch(/^\d{4}-.*Z$/);
      expect(await time.getAttribute("title")).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/);
      await failed.getByRole("link", { name: runId }).click();
      await page.getByRole("navigation", { name: "Breadcrumbs" }).getByRole("link", { name: "Runs" }).waitFor();
      expect(await watched.overflow()).toBe(0);
    });

    it("the overview does not say that nothing waits while that is not known", async () => {
      const { page } = await harness.page({ width: 1280, token: tokens.viewer });
      await page.route(/\/v1\/rotations/, () => undefined);
      await page.goto("/");
      await page.getByRole("region", { name: "Needs action" }).getByText("Loading …").waitFor();
      await page.getByRole("region", { name: "Secrets due for rotation" }).getByText("Loading …").waitFor();
      await page.unroute(/\/v1\/rotations/);
      await page.reload();
      await page.getByRole("region", { name: "Needs action" }).getByText("Nothing needs action.").waitFor();
    });

    it("a run page groups reasons with a link to their rows, which are searched, selected and retried", async () => {
      const { page } = await harness.page({ width: 1280, token: tokens.operator });
      await page.goto(`/#/runs/${runId}`);
      // A screen reader hears the numbers that the chart shows.
      await page.getByRole("img", { name: /^Calls per .*; calls: 8 in total, \d at most/ }).waitFor();
      await page.getByRole("img", { name: /^Rows per .*: 5 in total, \d at most; not done: 3 in total/ }).waitFor();
      const reasons = page.getByRole("table", { name: "Why rows are not done" });
      await reasons
        .getByRole("link", { name: /^Show the rows/ })
        .first()
        .click();
      const rows = page.getByRole("table", { name: "Rows of the run" }).getByRole("row");
      await expect.poll(() => rows.count()).toBe(4);
      await page.getByRole("searchbox", { name: "Search by SIM ID or IMSI" }).fill("99998");
      await expect.poll(() => rows.count()).toBe(2);
      await page.getByRole("checkbox", { name: "Select line 8" }).check();
      await page.getByRole("button", { name: "Retry 1 selected row" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Retry 1 row" }).click();
      await page.waitForURL((url) => url.hash.includes("/r-") && !url.hash.includes(runId));
      await page
        .getByText(missing[1] ?? "")
        .first()
        .waitFor();
    });

    it("Ctrl-K finds pages, SIMs and runs, keys lead to pages, and an id is copied", async () => {
      const { page } = await harness.page({ width: 1280, token: tokens.viewer });
      await page.goto("/#/fleet");
      await page.getByRole("heading", { name: "Fleet", level: 1 }).waitFor();
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
      await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
      await page
        .getByRole("button", { name: `Copy ${sim}` })
        .first()
        .click();
      expect(await page.evaluate<string>("navigator.clipboard.readText()")).toBe(sim);

      await page.keyboard.press("g");
      await page.keyboard.press("q");
      await page.getByRole("heading", { name: "Quota", level: 1 }).waitFor();
      await page.keyboard.press("?");
      await page.getByRole("dialog", { name: "Shortcuts" }).getByLabel("Single-key shortcuts").uncheck();
      await page.keyboard.press("Escape");
      await page.keyboard.press("g");
      await page.keyboard.press("o");
      await page.goto("/#/no-such-page");
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
