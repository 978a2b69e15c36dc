/** Every view, wide and narrow, light and dark: checked by axe and against the window, and used by keyboard alone. */
import { expect, it, vi } from "vitest";
import type { Page } from "playwright-core";
import { isLong } from "../support/long.ts";
import { findings, findingsInLooks } from "./support/axe.ts";
import { tokens } from "./support/fixtures.ts";
import { describeInBrowser, WebHarness } from "./support/harness.ts";

vi.setConfig({ testTimeout: 600_000 });

const looks = isLong ? 4 : 1;
let harness: WebHarness;
let runId: string;

/** Where each view is, and what has to be seen before it is looked at: something of what it shows. */
const views: Readonly<Record<string, { place: () => string; seen: (page: Page) => Promise<void> }>> = {
  Overview: { place: () => "/", seen: (page) => page.getByText("nightly-sync").waitFor() },
  SIMs: {
    place: () => "/#/sims?where=speedClass+exists",
    seen: (page) => page.getByRole("table", { name: "SIMs" }).getByRole("row").nth(3).waitFor(),
  },
  "New run": { place: () => "/#/new", seen: seePlan },
  Runs: { place: () => "/#/runs", seen: (page) => page.getByRole("link", { name: "forty" }).waitFor() },
  forty: { place: () => `/#/runs/${runId}`, seen: (page) => row(page, "Rows of the run") },
  Quota: {
    place: () => "/#/quota",
    seen: (page) => page.getByRole("link", { name: "Sim of OP0000000001" }).waitFor(),
  },
  Credentials: { place: () => "/#/credentials", seen: (page) => row(page, "Credential Sets") },
  Schedules: { place: () => "/#/schedules", seen: seeSchedules },
  SIM: { place: () => `/#/sims/${harness.cli.simId(0)}`, seen: seeSim },
  "Activity, summary": { place: () => "/#/activity", seen: (page) => page.getByText("forty").first().waitFor() },
  "Activity, events": { place: () => "/#/activity/events", seen: (page) => row(page, "Events") },
  "Activity, audit": { place: () => "/#/activity/audit", seen: seeFrozen },
};

async function seeSchedules(page: Page): Promise<void> {
  for (const table of ["Schedules", "Automations", "Freezes of the configuration", "Deliveries"])
    await row(page, table);
}

async function row(page: Page, table: string): Promise<void> {
  await page.getByRole("table", { name: table, exact: true }).getByRole("row").nth(1).waitFor();
}

/** What every view says at its top while a freeze holds. */
async function seeFrozen(page: Page): Promise<void> {
  await harness.ask("/v1/freeze", { method: "POST" });
  await page.getByText("Changes are frozen").waitFor();
  await row(page, "Changes");
}

async function seePlan(page: Page): Promise<void> {
  await page.getByRole("radio", { name: "A filter" }).check({ force: true });
  await page.getByLabel("Filter", { exact: true }).fill(`simId=${harness.cli.simId(50)}`);
  await page.getByLabel("speedClass", { exact: true }).fill("s1.fast");
  await page.getByRole("button", { name: "Preview" }).click();
  await row(page, "Rows of the plan");
}

async function seeSim(page: Page): Promise<void> {
  // The buttons move when the SIM is there, and a click that they move away from is lost.
  await row(page, "Fields");
  await page.getByRole("button", { name: "Read from the platform now" }).click();
  await page.getByText("fields of the platform's record").click();
  await row(page, "Fields of the platform's record");
  await page.getByRole("button", { name: "Read the status history" }).click();
  await row(page, "Status history");
  await row(page, "Timeline");
}

/** In the page: whether the chosen option of the palette is within its list and within the window. */
const isChosenInSight = `(() => {
  const option = document.querySelector("[role=option][aria-selected=true]");
  const { top, bottom } = option.getBoundingClientRect();
  const list = option.parentElement.getBoundingClientRect();
  return top >= Math.max(0, list.top) - 1 && bottom <= Math.min(innerHeight, list.bottom) + 1;
})()`;

/** A page that axe can look at. */
async function setup(path: string, { width = 1280, token = tokens.operator }: { width?: number; token?: string } = {}) {
  const watched = await harness.open(path, { width, isExamined: true, ...(token && { token }) });
  return { watched, page: watched.page };
}

/** Shows a view wide, and waits for what it shows. */
async function show(page: Page, title: string): Promise<void> {
  const { place, seen } = views[title] ?? {};
  await page.setViewportSize({ width: 1280, height: 860 });
  await page.goto(place?.() ?? "");
  const name = title === "SIM" ? /^SIM / : (title.split(",")[0] ?? "");
  await page.getByRole("heading", { level: 1, name, exact: true }).waitFor();
  await seen?.(page);
  const loading = page.getByText(/^Loading /);
  await loading.first().waitFor({ state: "detached" });
}

/** Presses Tab until the focus is on something that is called so. */
async function tabTo(page: Page, name: string): Promise<void> {
  for (let presses = 0; presses < 60; presses += 1) {
    await page.keyboard.press("Tab");
    const called = await page.evaluate<string>(
      "(() => { const at = document.activeElement; return at.labels?.[0]?.textContent || at.getAttribute('aria-label') || at.textContent; })()",
    );
    if (called.trim() === name) return;
  }
  throw new Error(`Tab does not reach ${name}`);
}

/** A page that is used without a mouse. */
async function setupKeyboard(path: string) {
  const { page } = await harness.open(path, { width: 1280, token: tokens.operator });
  await page.getByRole("heading", { level: 1 }).waitFor();
  const pressButton = async (button: string): Promise<void> => {
    await tabTo(page, button);
    await page.keyboard.press("Enter");
  };
  return { page, pressButton };
}

/** The command palette, with what is found for a text. */
async function setupPalette(text = "") {
  const { watched, page } = await setup("/#/quota");
  await page.getByRole("heading", { name: "Quota", level: 1 }).waitFor();
  await page.keyboard.press("Control+k");
  const palette = page.getByRole("dialog", { name: "Search and commands" });
  await palette.getByRole("option").nth(5).waitFor();
  if (text !== "") {
    // What is searched is complete once nothing is found.
    await page.keyboard.type("no such thing");
    await palette.getByText("Nothing found.").waitFor();
    await page.keyboard.press("Control+a");
    await page.keyboard.type(text);
  }
  return { watched, page, palette };
}

/** The list of shortcuts, which was opened while the focus was on a link. */
async function setupShortcuts() {
  const { watched, page } = await setup("/#/quota");
  await page.getByRole("heading", { name: "Quota", level: 1 }).waitFor();
  await page.getByRole("link", { name: "Runs", exact: true }).focus();
  await page.keyboard.press("?");
  const list = page.getByRole("dialog", { name: "Shortcuts" });
  await list.waitFor();
  return { watched, page, list };
}

describeInBrowser(
  "accessibility of the dashboard",
  async () => {
    harness = await WebHarness.open();
    await harness.sync();
    const csv = `${await harness.csv(40)}8.94231E+18,s1.fast,ruined\n`;
    ({ runId } = await harness.ask<{ runId: string }>("/v1/runs?partial=true&name=forty", { method: "POST", csv }));
    return harness;
  },
  () => {
    it("every view passes axe and fits its window in wide, narrow, light, and dark modes", async () => {
      const found: string[] = [];
      const { watched, page } = await setup("/", { token: tokens.admin });
      for (const title of Object.keys(views)) {
        await show(page, title);
        found.push(...(await findingsInLooks(watched, title, looks)));
      }
      await harness.ask("/v1/freeze", { method: "DELETE" });
      expect(found).toEqual([]);
    });

    it("the sign-in page passes axe", async () => {
      const { watched, page } = await setup("/", { width: 360, token: "" });
      await page.getByRole("heading", { name: "Sign in" }).waitFor();
      expect(await findings(watched)).toEqual([]);
    });

    it("an open dialog passes axe, and the focus returns to its button", async () => {
      const { watched, page } = await setup(views.forty?.place() ?? "", { width: 360 });
      await page.getByRole("button", { name: "Undo" }).click();
      await page.getByRole("dialog").waitFor();
      expect(await findings(watched)).toEqual([]);
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
      expect(await page.evaluate<string>("document.activeElement.textContent")).toBe("Undo");
    });

    it("the dialog that asks for a number of SIMs passes axe", async () => {
      const { watched, page } = await setup("/#/new", { width: 360 });
      await page.getByLabel("Operation", { exact: true }).selectOption("set-expiry-terminate");
      await page.getByRole("radio", { name: "A filter" }).check({ force: true });
      await page.getByLabel("Filter", { exact: true }).fill(`simId=${harness.cli.simId(50)}`);
      await page.getByLabel("expiryTime", { exact: true }).fill("2099-12-31T12:00");
      await page.getByRole("button", { name: "Preview" }).click();
      await page.getByRole("button", { name: "Start the run" }).click();
      await page.getByLabel("Number of SIMs").waitFor();
      expect(await findings(watched)).toEqual([]);
    });

    it("the command palette passes axe in all variants", async () => {
      const { watched, page, palette } = await setupPalette();
      expect(await findingsInLooks(watched, "palette", looks)).toEqual([]);
      await page.keyboard.type("no such thing");
      await palette.getByText("Nothing found.").waitFor();
      expect(await findings(watched)).toEqual([]);
    });

    it("the command palette moves through its options by keyboard and keeps the chosen one in sight", async () => {
      const { page, palette } = await setupPalette("e");
      const chosen = palette.getByRole("option", { selected: true });
      const options = await palette.getByRole("option").allTextContents();
      await page.setViewportSize({ width: 1280, height: 300 });
      for (const option of options) {
        expect(await chosen.textContent()).toBe(option);
        const active = await palette.getByRole("combobox").getAttribute("aria-activedescendant");
        expect(await chosen.getAttribute("id")).toBe(active);
        const isInSight = () => page.evaluate<boolean>(isChosenInSight);
        await expect.poll(isInSight, { message: `${option} is in sight` }).toBe(true);
        await page.keyboard.press("ArrowDown");
      }
      expect(await chosen.textContent()).toBe(options[0]);
    });

    it("the command palette says that it is searching until all answers are there", async () => {
      const { page } = await setup("/#/quota");
      const { promise: asked, resolve: hold } = Promise.withResolvers<() => Promise<void>>();
      await page.route("**/v1/automations*", (route) => hold(() => route.continue()));
      await page.getByRole("heading", { name: "Quota", level: 1 }).waitFor();
      await page.keyboard.press("Control+k");
      await page.keyboard.type("no such thing");
      const release = await asked;
      await page.getByText("Searching …").waitFor();
      await release();
      await page.getByText("Nothing found.").waitFor();
    });

    it("the list of shortcuts passes axe in all variants and opens and closes by keyboard", async () => {
      const { watched, page, list } = await setupShortcuts();
      expect(await findingsInLooks(watched, "shortcuts", looks)).toEqual([]);
      await page.setViewportSize({ width: 1280, height: 860 });
      expect(await page.evaluate<string>("document.activeElement.type")).toBe("checkbox");
      await page.keyboard.press("Escape");
      await list.waitFor({ state: "detached" });
      expect(await page.evaluate<string>("document.activeElement.textContent")).toContain("Runs");
    });

    it("without single-key shortcuts, only Ctrl-K opens something, and the focus returns", async () => {
      const { page, list } = await setupShortcuts();
      await page.keyboard.press("Space");
      await page.keyboard.press("Escape");
      await list.waitFor({ state: "detached" });
      await page.keyboard.press("n");
      await page.keyboard.press("?");
      await page.keyboard.press("Control+k");
      await page.getByRole("dialog", { name: "Search and commands" }).waitFor();
      expect(await list.count()).toBe(0);
      expect(new URL(page.url()).hash).toBe("#/quota");
      await page.keyboard.press("Escape");
      expect(await page.evaluate<string>("document.activeElement.textContent")).toContain("Runs");
    });

    it("a run can be planned and started by keyboard only", async () => {
      const { page, pressButton } = await setupKeyboard("/#/new");
      await tabTo(page, "A CSV file");
      await page.keyboard.press("ArrowRight");
      await tabTo(page, "Filter");
      await page.keyboard.type(`simId=${harness.cli.simId(50)}`);
      await tabTo(page, "speedClass");
      await page.keyboard.type("s1.fast");
      await pressButton("Preview");
      await page.getByRole("table", { name: "Rows of the plan" }).waitFor();
      await pressButton("Start the run");
      await page.getByRole("dialog").waitFor();
      await pressButton("Start the run");
      await page.waitForURL(/#\/runs\/r-/);
    });

    it("a run can be undone by keyboard only", async () => {
      const sim = harness.cli.simId(51);
      const other = harness.cli.sandbox.state.speedClassOf(sim) === "s1.fast" ? "s1.slow" : "s1.fast";
      const csv = `simId,speedClass\n${sim},${other}\n`;
      const { runId: changed } = await harness.ask<{ runId: string }>("/v1/runs", { method: "POST", csv });
      await harness.ended(changed);
      const { page, pressButton } = await setupKeyboard(`/#/runs/${changed}`);
      await page.getByText("completed", { exact: true }).waitFor();
      await pressButton("Undo");
      await page.getByRole("dialog").waitFor();
      await pressButton("Restore 1 SIM");
      await page.getByText("undoes").waitFor();
      await page.getByText("completed", { exact: true }).waitFor();
    });
  },
);
