/** Every view, light and wide, dark and narrow: looked at by axe, held against the window, and used by keyboard alone. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type WatchedPage, withoutBrowser } from "./support/browser.ts";
import { tokens } from "./support/furniture.ts";
import { WebHouse } from "./support/house.ts";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let house: WebHouse;
let runId: string;

const places = {
  Fleet: "/#/fleet",
  "New run": "/#/new",
  Runs: "/#/runs",
  Run: "/#/runs/",
  Quota: "/#/quota",
  Credentials: "/#/credentials",
  Schedules: "/#/schedules",
  Events: "/#/events",
} as const;

/** What axe finds to be serious or critical, one line each. */
async function findings({ page }: WatchedPage): Promise<string[]> {
  await page.evaluate(axe);
  const found = await page.evaluate<{ id: string; impact: string; nodes: { html: string }[] }[]>(
    "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations)",
  );
  return found
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}

describe.skipIf(withoutBrowser)(`every view${withoutBrowser === undefined ? "" : ` (${withoutBrowser})`}`, () => {
  beforeAll(async () => {
    house = await WebHouse.open();
    await house.sync();
    const file = await house.walk.fleet("fleet.csv", 40);
    const csv = `${await house.walk.read(file)}8.94231E+18,s1.fast,ruined\n`;
    ({ runId } = await house.ask<{ runId: string }>("/v1/runs?partial=true&name=forty", { method: "POST", csv }));
  });
  afterAll(async () => {
    await house[Symbol.asyncDispose]();
  });

  for (const look of [
    { width: 1280, scheme: "light" },
    { width: 360, scheme: "dark" },
  ] as const) {
    it(`passes axe and stays within its window, ${look.width} px wide and ${look.scheme}`, async () => {
      const found: string[] = [];
      await using watched = await house.page({ ...look, isExamined: true, token: tokens.admin });
      const { page } = watched;
      for (const [name, place] of Object.entries(places)) {
        await page.goto(name === "Run" ? place + runId : place);
        await page.getByRole("heading", { level: 1, name: name === "Run" ? "forty" : name, exact: true }).waitFor();
        await page
          .getByText(/^Reading /)
          .first()
          .waitFor({ state: "detached" });
        found.push(...(await findings(watched)).map((finding) => `${name}: ${finding}`));
        if ((await watched.overflow()) > 0) found.push(`${name} is wider than its window`);
      }
      expect(found).toEqual([]);
      expect(watched.faults).toEqual([]);
    });
  }

  it("passes axe before anybody is signed in, and with a question open", async () => {
    await using signedOut = await house.page({ width: 360, isExamined: true });
    await signedOut.page.goto("/");
    await signedOut.page.getByRole("heading", { name: "Sign in" }).waitFor();
    expect(await findings(signedOut)).toEqual([]);

    await using signedIn = await house.page({ width: 360, isExamined: true, token: tokens.operator });
    await signedIn.page.goto(places.Run + runId);
    await signedIn.page.getByRole("button", { name: "Undo" }).click();
    await signedIn.page.getByRole("dialog").waitFor();
    expect(await findings(signedIn)).toEqual([]);
    await signedIn.page.keyboard.press("Escape");
    await signedIn.page.getByRole("dialog").waitFor({ state: "detached" });
    const focused = await signedIn.page.evaluate<string>("document.activeElement.textContent");
    expect(focused).toBe("Undo");
  });

  it("lets a run be planned and started by keyboard alone", async () => {
    await using watched = await house.page({ width: 1280, token: tokens.operator });
    const { page } = watched;
    await page.goto("/#/new");
    await page.getByRole("heading", { name: "New run", level: 1 }).waitFor();
    /** Goes on with Tab until the focus is on something that is called so. */
    const tabTo = async (name: string): Promise<void> => {
      for (let presses = 0; presses < 60; presses += 1) {
        await page.keyboard.press("Tab");
        const called = await page.evaluate<string>(
          "(() => { const at = document.activeElement; return at.labels?.[0]?.textContent || at.getAttribute('aria-label') || at.textContent; })()",
        );
        if (called.trim() === name) return;
      }
      throw new Error(`Tab does not reach ${name}`);
    };
    await tabTo("A CSV file");
    await page.keyboard.press("ArrowRight");
    await tabTo("Filter");
    await page.keyboard.type(`simId=${house.walk.simId(50)}`);
    await tabTo("Speed class");
    await page.keyboard.type("s1.fast");
    await tabTo("See the plan");
    await page.keyboard.press("Enter");
    await page.getByRole("table", { name: "Rows of the plan" }).waitFor();
    await tabTo("Start the run");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    await tabTo("Start the run");
    await page.keyboard.press("Enter");
    await page.waitForURL(/#\/runs\/r-/);
    await page.getByText("completed", { exact: true }).waitFor();
    expect(watched.faults).toEqual([]);
  });
});
