/** The SIM explorer: from a bar of the fleet over filters, search and order to the plan of a run. */
import { writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import type { WatchedPage } from "./support/browser.ts";
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

function rowsOf({ page }: WatchedPage) {
  return page.getByRole("table", { name: "SIMs" }).getByRole("row");
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
    it("a count of the fleet selects its SIMs, and conditions are added with a live count and removed", async () => {
      const { page } = await harness.page({ width: 1280, token: tokens.operator });
      await page.goto("/#/sims");
      await page.getByRole("list", { name: "SIMs by speed class" }).getByRole("link", { name: "s1.fast" }).click();
      const fast = await countOf("speedClass=s1.fast");
      await page.getByText(`${fast.toLocaleString("en-US")} SIMs`, { exact: true }).waitFor();

      await page.getByText("Add a condition", { exact: true }).click();
      await page.getByLabel("Field", { exact: true }).fill("status");
      const suggested = "[...document.querySelectorAll('datalist option')].map(({ value }) => value)";
      expect(await page.evaluate<string[]>(suggested)).toEqual(expect.arrayContaining(["speedClass", "active"]));
      await page.getByLabel("Operator", { exact: true }).selectOption({ label: "is not" });
      await page.getByLabel("Value", { exact: true }).fill("active");
      const both = await countOf("speedClass=s1.fast and status!=active");
      expect(both).toBeLessThan(fast);
      await page.getByText(`${both} SIMs with this filter`).waitFor();
      await page.getByRole("button", { name: "Add", exact: true }).click();
      await page.getByText(`${both} SIMs`, { exact: true }).waitFor();
      expect(new URL(page.url()).hash).toContain("status");
      const filter = page.getByLabel("Filter, or a part of an ID");
      expect(await filter.inputValue()).toBe("speedClass=s1.fast and status!=active");
      await filter.fill("status!=active");
      await page.keyboard.press("Enter");
      await page
        .getByText(`${(await countOf("status!=active")).toLocaleString("en-US")} SIMs`, { exact: true })
        .waitFor();
    });

    it("a long list draws only the rows in sight, is sorted by a header, and loads more while it is scrolled", async () => {
      const watched = await harness.page({ width: 1280, token: tokens.viewer });
      const { page } = watched;
      await page.goto("/#/sims");
      await page.getByText(/^[12]00 of [\d,]+ loaded$/).waitFor();
      await page.getByRole("button", { name: "SIM ID" }).click();
      const first = (await harness.ask<{ sims: { simId: string }[] }>("/v1/sims?sort=simId&limit=1000")).sims;
      await rowsOf(watched)
        .filter({ hasText: first[0]?.simId ?? "" })
        .waitFor();
      const loadMore = async (): Promise<number> => {
        await page.evaluate("document.querySelector('.long-list').scrollTo(0, 1e9)");
        return Number.parseInt(((await page.getByText(/loaded$/).textContent()) ?? "").replace(",", ""), 10);
      };
      await expect.poll(loadMore, { timeout: 20_000 }).toBeGreaterThanOrEqual(900);
      expect(await rowsOf(watched).count()).toBeLessThan(80);
      const row = rowsOf(watched).filter({ hasText: first[250]?.simId ?? "" });
      await page.evaluate("document.querySelector('.long-list').scrollTo(0, 250 * 29)");
      await row.waitFor();
      expect(await row.getAttribute("aria-rowindex")).toBe("252");
    });

    it("a search by SIM ID or IMSI, a saved filter and chosen columns work, and selected SIMs become a plan", async () => {
      const watched = await harness.page({ width: 360, token: tokens.operator });
      const { page } = watched;
      const [one, two] = [harness.cli.simId(7), harness.cli.simId(8)];
      const { imsi } = await harness.ask<{ imsi: string }>(`/v1/sims/${one}`);
      await page.goto(`/#/sims?where=${encodeURIComponent("speedClass exists")}`);
      const search = page.getByLabel("Filter, or a part of an ID");
      await search.fill(imsi);
      await page.keyboard.press("Enter");
      await page.getByText("1 SIM", { exact: true }).waitFor();
      await rowsOf(watched).filter({ hasText: one }).waitFor();
      await page.getByText("Saved filters", { exact: true }).click();
      await page.getByLabel("Name", { exact: true }).fill("just one");
      await page.getByRole("button", { name: "Save this filter" }).click();
      await page.getByRole("link", { name: "just one" }).waitFor();
      await page.getByText("Saved filters", { exact: true }).click();
      await page.getByRole("button", { name: "Clear", exact: true }).click();
      await page.getByText("3,000 SIMs", { exact: true }).waitFor();
      await page.getByText("Saved filters", { exact: true }).click();
      await page.getByRole("link", { name: "just one" }).click();
      await page.getByText("1 SIM", { exact: true }).waitFor();
      await page.locator("summary", { hasText: "Columns" }).click();
      await page.getByLabel("Seen", { exact: true }).check();
      await page.getByRole("columnheader", { name: "Seen" }).waitFor();

      await page.goto(`/#/sims?where=${encodeURIComponent(`simId in (${one}, ${two})`)}`);
      await page.getByText("2 SIMs", { exact: true }).waitFor();
      // On a phone, the list is above the counts of the fleet.
      const top = async (name: string): Promise<number> =>
        (await page.getByRole("region", { name, exact: true }).first().boundingBox())?.y ?? 0;
      expect(await top("SIMs")).toBeLessThan(await top("Filter"));
      await page.getByRole("checkbox", { name: "Select all loaded SIMs" }).check();
      expect(await watched.overflow()).toBe(0);
      await page.getByRole("button", { name: "New run for 2 selected SIMs" }).click();
      const filter = page.getByRole("textbox", { name: "Filter", exact: true });
      await filter.waitFor();
      expect((await filter.inputValue()).match(/\d{19}/g)?.toSorted()).toEqual([one, two].toSorted());
      await page.goBack();
      await page.getByRole("button", { name: "New run for these SIMs" }).click();
      await filter.waitFor();
      expect(await filter.inputValue()).toBe(`simId in (${one}, ${two})`);
    });

    it("a selection of more SIMs than a filter holds becomes the plan of a file", async () => {
      const { page } = await harness.page({ width: 1280, token: tokens.operator });
      await page.goto("/#/sims");
      const loaded = async (): Promise<number> => {
        await page.evaluate("document.querySelector('.long-list')?.scrollTo(0, 1e9)");
        return Number.parseInt(((await page.getByText(/loaded$/).textContent()) ?? "").replace(",", ""), 10);
      };
      await expect.poll(loaded, { timeout: 20_000 }).toBeGreaterThanOrEqual(600);
      // Not `check`: a page of SIMs that arrives now is loaded and not selected.
      await page.getByRole("checkbox", { name: "Select all loaded SIMs" }).click();
      const start = page.getByRole("button", { name: /^New run for [\d,]+ selected SIMs/ });
      const count = /[\d,]+/.exec((await start.textContent()) ?? "")?.[0] ?? "";
      await start.click();
      await page.getByText("selected-sims.csv").waitFor();
      await page.getByText("Enter a value for speedClass.").first().waitFor();
      const operation = page.getByLabel("Operation", { exact: true });
      await operation.selectOption("set-expiry");
      const actions = page.getByLabel("expiryAction", { exact: true }).getByRole("option");
      expect((await actions.allTextContents())[0]).toBe("choose one");
      await operation.selectOption("set-speed-class");
      await page.getByLabel("speedClass", { exact: true }).fill("s1.slow");
      await page.getByRole("button", { name: "Preview" }).click();
      await page.getByText("set-speed-class · selected-sims.csv").waitFor();
      const plan = page.getByRole("region", { name: "Plan", exact: true });
      await plan.getByText(new RegExp(`^${count} rows`)).waitFor();

      const addresses: string[] = [];
      page.on("request", (request) => addresses.push(request.url()));
      await operation.selectOption("set-secret-tag");
      await page.getByText("Enter a value for word.").first().waitFor();
      await page.getByLabel("word", { exact: true }).fill(secret);
      await page.getByRole("button", { name: "Update plan" }).click();
      await page.getByText("set-secret-tag · selected-sims.csv").waitFor();
      await plan.getByText(new RegExp(`^${count} rows`)).waitFor();
      expect(addresses.some((address) => address.includes("/v1/plans"))).toBe(true);
      expect(addresses.filter((address) => decodeURIComponent(address).includes("7F3A"))).toEqual([]);
      await page.getByRole("button", { name: "Start the run" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Start the run" }).click();
      await page.waitForURL((url) => url.hash.startsWith("#/runs/"));
      const { sims: listed } = await harness.ask<{ sims: { simId: string }[] }>("/v1/sims?limit=1");
      const tags = async () =>
        (await harness.ask<{ tags: Record<string, string> }>(`/v1/sims/${listed[0]?.simId ?? ""}/fresh`)).tags;
      await expect.poll(tags, { timeout: 60_000 }).toMatchObject({ word: secret });
    });
  },
);
