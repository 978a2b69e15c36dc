/** The SIM explorer: from a bar of the fleet over filters, search and order to the plan of a run. */
import { writeFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { type PageOptions, press } from "./support/browser.ts";
import { tokens } from "./support/fixtures.ts";
import { describeInBrowser, WebHarness } from "./support/harness.ts";

const sims = 3_000;
const secret = 'pin "7F3A", do not show';
const deployment = `extends: soracom
brand: Svc
simOperations:
  set-secret-tag:
    summary: Set a tag to a secret
    method: PUT
    path: /v1/sims/{simId}/tags
    group: Sim
    input: { word: { required: true, secret: true } }
    body: [{ tagName: word, tagValue: "{word}" }]
    statuses: [200]
    answer: none
    repeat: safe
`;
let harness: WebHarness;

/** The SIMs of a filter, by the control API. */
async function countOf(where: string): Promise<number> {
  const { count } = await harness.ask<{ count: number }>(`/v1/sims/count?where=${encodeURIComponent(where)}`);
  return count;
}

/** The list of the SIMs of a filter. */
async function setup(where = "", { width = 1280, token = tokens.operator }: Partial<PageOptions> = {}) {
  const path = where === "" ? "/#/sims" : `/#/sims?where=${encodeURIComponent(where)}`;
  const watched = await harness.open(path, { width, token });
  const { page } = watched;
  const rows = page.getByRole("table", { name: "SIMs" }).getByRole("row");
  const shows = (count: number): Promise<void> =>
    page.getByText(`${count.toLocaleString("en-US")} ${count === 1 ? "SIM" : "SIMs"}`, { exact: true }).waitFor();
  const filter = page.getByLabel("Filter, or a part of an ID");
  const search = async (text: string): Promise<void> => {
    await filter.fill(text);
    await page.keyboard.press("Enter");
  };
  /** Scrolls to the end. @returns how many SIMs are loaded */
  const loadMore = async (): Promise<number> => {
    await page.evaluate("document.querySelector('.long-list')?.scrollTo(0, 1e9)");
    return Number.parseInt(((await page.getByText(/loaded$/).textContent()) ?? "").replace(",", ""), 10);
  };
  return { watched, page, rows, shows, filter, search, loadMore };
}

async function saveFilter(page: Page, name: string): Promise<void> {
  await page.getByText("Saved filters", { exact: true }).click();
  await page.getByLabel("Name", { exact: true }).fill(name);
  await page.getByRole("button", { name: "Save this filter" }).click();
  await page.getByRole("link", { name }).waitFor();
  await page.getByText("Saved filters", { exact: true }).click();
}

/** What the builder of conditions suggests. */
function suggestions(page: Page): Promise<string[]> {
  return page.evaluate("[...document.querySelectorAll('datalist option')].map(({ value }) => value)");
}

/** The form of a new run for more SIMs than a filter holds. */
async function setupFileRun() {
  const { page, loadMore } = await setup();
  await expect.poll(loadMore, { timeout: 20_000 }).toBeGreaterThanOrEqual(600);
  // Not `check`: a page of SIMs that arrives now is loaded and not selected.
  await page.getByRole("checkbox", { name: "Select all loaded SIMs" }).click();
  const start = page.getByRole("button", { name: /^New run for [\d,]+ selected SIMs/ });
  const count = /[\d,]+/.exec((await start.textContent()) ?? "")?.[0] ?? "";
  await start.click();
  await page.getByText("selected-sims.csv").waitFor();
  const operation = page.getByLabel("Operation", { exact: true });
  const plan = page.getByRole("region", { name: "Plan", exact: true });
  /** Has the plan made. */
  const planned = async (button: string, title: string): Promise<void> => {
    await page.getByRole("button", { name: button }).click();
    await page.getByText(`${title} · selected-sims.csv`).waitFor();
    await plan.getByText(new RegExp(`^${count} rows`)).waitFor();
  };
  return { page, operation, planned };
}

describeInBrowser(
  "the SIM explorer",
  async () => {
    harness = await WebHarness.open({
      sims,
      env: { SIMFLEET_DEPLOYMENT: "own.yaml" },
      writeFixtures: ({ folder }) => {
        writeFileSync(`${folder}/own.yaml`, deployment);
        return {};
      },
    });
    await harness.sync();
    return harness;
  },
  () => {
    it("a count of the fleet selects its SIMs", async () => {
      const { page, shows } = await setup();
      await page.getByRole("list", { name: "SIMs by speed class" }).getByRole("link", { name: "s1.fast" }).click();
      await shows(await countOf("speedClass=s1.fast"));
    });

    it("a condition is added with suggestions and a live count", async () => {
      const { page, shows, filter } = await setup("speedClass=s1.fast");
      await shows(await countOf("speedClass=s1.fast"));
      await page.getByText("Add a condition", { exact: true }).click();
      await page.getByLabel("Field", { exact: true }).fill("status");
      await expect.poll(() => suggestions(page)).toEqual(expect.arrayContaining(["speedClass", "active"]));
      await page.getByLabel("Operator", { exact: true }).selectOption({ label: "is not" });
      await page.getByLabel("Value", { exact: true }).fill("active");
      const both = await countOf("speedClass=s1.fast and status!=active");
      await page.getByText(`${both} SIMs with this filter`).waitFor();
      await page.getByRole("button", { name: "Add", exact: true }).click();
      await shows(both);
      expect(await filter.inputValue()).toBe("speedClass=s1.fast and status!=active");
    });

    it("a condition is removed from the filter, which the address has", async () => {
      const { page, shows, search } = await setup("speedClass=s1.fast and status!=active");
      const both = await countOf("speedClass=s1.fast and status!=active");
      await shows(both);
      const one = await countOf("status!=active");
      expect(both).toBeLessThan(one);
      await search("status!=active");
      await shows(one);
      expect(new URL(page.url()).hash).toContain("status");
    });

    it("a long list draws only the rows in sight, is sorted by a header, and loads more while it is scrolled", async () => {
      const { page, rows, loadMore } = await setup("", { token: tokens.viewer });
      await page.getByText(/^[12]00 of [\d,]+ loaded$/).waitFor();
      await page.getByRole("button", { name: "SIM ID" }).click();
      const first = (await harness.ask<{ sims: { simId: string }[] }>("/v1/sims?sort=simId&limit=1000")).sims;
      const rowOf = (place: number) => rows.filter({ hasText: first[place]?.simId ?? "" });
      await rowOf(0).waitFor();
      await expect.poll(loadMore, { timeout: 20_000 }).toBeGreaterThanOrEqual(900);
      expect(await rows.count()).toBeLessThan(80);
      await page.evaluate("document.querySelector('.long-list').scrollTo(0, 250 * 29)");
      await rowOf(250).waitFor();
      expect(await rowOf(250).getAttribute("aria-rowindex")).toBe("252");
    });

    it("a search by IMSI finds a SIM, which a saved filter shows again", async () => {
      const { page, rows, shows, search } = await setup("speedClass exists", { width: 360 });
      const one = harness.cli.simId(7);
      await search((await harness.ask<{ imsi: string }>(`/v1/sims/${one}`)).imsi);
      await shows(1);
      await rows.filter({ hasText: one }).waitFor();
      await saveFilter(page, "just one");
      await page.getByRole("button", { name: "Clear", exact: true }).click();
      await shows(3_000);
      await page.getByText("Saved filters", { exact: true }).click();
      await page.getByRole("link", { name: "just one" }).click();
      await shows(1);
    });

    it("chosen columns are shown", async () => {
      const { page } = await setup("speedClass exists", { width: 360 });
      await page.locator("summary", { hasText: "Columns" }).click();
      await page.getByLabel("Seen", { exact: true }).check();
      await page.getByRole("columnheader", { name: "Seen" }).waitFor();
    });

    it("on a phone, the list is above the counts of the fleet and as wide as the window", async () => {
      const { watched, page, shows } = await setup(`simId=${harness.cli.simId(7)}`, { width: 360 });
      await shows(1);
      const top = async (name: string): Promise<number> =>
        (await page.getByRole("region", { name, exact: true }).first().boundingBox())?.y ?? 0;
      expect(await top("SIMs")).toBeLessThan(await top("Filter"));
      await page.getByRole("checkbox", { name: "Select all loaded SIMs" }).check();
      expect(await watched.overflow()).toBe(0);
    });

    it("selected SIMs, or all of a filter, become a plan", async () => {
      const ids = [harness.cli.simId(7), harness.cli.simId(8)];
      const where = `simId in (${ids.join(", ")})`;
      const { page, shows } = await setup(where, { width: 360 });
      await shows(2);
      await page.getByRole("checkbox", { name: "Select all loaded SIMs" }).check();
      await page.getByRole("button", { name: "New run for 2 selected SIMs" }).click();
      const ofRun = page.getByRole("textbox", { name: "Filter", exact: true });
      await ofRun.waitFor();
      expect((await ofRun.inputValue()).match(/\d{19}/g)?.toSorted()).toEqual(ids.toSorted());
      await page.goBack();
      await page.getByRole("button", { name: "New run for these SIMs" }).click();
      await ofRun.waitFor();
      expect(await ofRun.inputValue()).toBe(where);
    });

    it("a selection of more SIMs than a filter holds becomes the plan of a file", async () => {
      const { page, operation, planned } = await setupFileRun();
      await page.getByText("Enter a value for speedClass.").first().waitFor();
      await operation.selectOption("set-expiry");
      const actions = page.getByLabel("expiryAction", { exact: true }).getByRole("option");
      expect((await actions.allTextContents())[0]).toBe("choose one");
      await operation.selectOption("set-speed-class");
      await page.getByLabel("speedClass", { exact: true }).fill("s1.slow");
      await planned("Preview", "set-speed-class");
    });

    it("a secret input is sent in no address", async () => {
      const { page, operation, planned } = await setupFileRun();
      const addresses: string[] = [];
      page.on("request", (request) => addresses.push(decodeURIComponent(request.url())));
      await page.getByLabel("speedClass", { exact: true }).fill("s1.slow");
      await planned("Preview", "set-speed-class");
      await operation.selectOption("set-secret-tag");
      await page.getByText("Enter a value for word.").first().waitFor();
      await page.getByLabel("word", { exact: true }).fill(secret);
      await planned("Update plan", "set-secret-tag");
      await press(page, "Start the run", "Start the run");
      await page.waitForURL((url) => url.hash.startsWith("#/runs/"));
      expect(addresses.some((address) => address.includes("/v1/plans"))).toBe(true);
      expect(addresses.filter((address) => address.includes("7F3A"))).toEqual([]);
    });
  },
);
