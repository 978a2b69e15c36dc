/**
 * Pictures of every page of the dashboard, for somebody to look at: light and dark, wide and narrow, with data, without,
 * while it loads, while the worker fails, and for a viewer. Named `page.state.scheme.width.png`.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Browser, Page } from "playwright-core";
import { WatchedPage } from "../test/web/support/browser.ts";
import { tokens } from "../test/web/support/fixtures.ts";

interface Looks {
  readonly folder: string;
  readonly origin: string;
  /** Of a worker without data. */
  readonly emptyOrigin: string;
  readonly runId: string;
  readonly sim: string;
}

const states = ["full", "empty", "loading", "broken", "read-only"] as const;
type State = (typeof states)[number];

/** Requests without which nobody is signed in. */
const ofSession = /\/v1\/(?:me|profiles)$/;

export async function takeEveryLook(browser: Browser, looks: Looks): Promise<void> {
  mkdirSync(looks.folder, { recursive: true });
  const pages: Readonly<Record<string, string>> = {
    overview: "overview",
    fleet: "fleet",
    sims: "sims",
    "sims-filter": "sims?where=speedClass%3Ds1.fast",
    sim: `sims/${looks.sim}`,
    new: "new",
    runs: "runs",
    run: `runs/${looks.runId}`,
    quota: "quota",
    credentials: "credentials",
    schedules: "schedules",
    freezes: "freezes",
    events: "events",
    audit: "audit",
    missing: "no-such-page",
  };
  for (const state of states) {
    for (const [name, place] of Object.entries(pages)) {
      const origin = state === "empty" ? looks.emptyOrigin : looks.origin;
      const token = state === "read-only" ? tokens.viewer : tokens.admin;
      await using watched = await WatchedPage.open(browser, origin, { width: 1280, token });
      await prepare(watched.page, state);
      await watched.page.goto(`/#/${place}`);
      await watched.page.locator("h1").waitFor();
      await sleep(state === "full" ? 1_500 : 900);
      await takeLooks(watched, join(looks.folder, `${name}.${state}`));
      // Refused requests are what these states are about.
      for (const fault of watched.faults.filter((one) => !one.includes(" answered "))) {
        console.log(`${name}, ${state}: ${fault}`);
      }
    }
  }
}

async function takeLooks(watched: WatchedPage, name: string): Promise<void> {
  const { page } = watched;
  for (const width of [1280, 390]) {
    await page.setViewportSize({ width, height: width === 390 ? 844 : 900 });
    for (const scheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme: scheme });
      await sleep(150);
      const path = `${name}.${scheme}.${width}.png`;
      await page.screenshot({ path, fullPage: true });
      if ((await watched.overflow()) > 0) console.log(`${path} is wider than its window`);
    }
  }
}

async function prepare(page: Page, state: State): Promise<void> {
  if (state !== "loading" && state !== "broken") return;
  await page.route("**/v1/**", async (route) => {
    if (ofSession.test(new URL(route.request().url()).pathname)) return route.continue();
    // A request that is never answered, or one that a failing worker answers.
    if (state === "loading") return undefined;
    const detail = "Redis does not answer: connect ECONNREFUSED";
    return route.fulfill({ status: 503, json: { code: "STORE_UNAVAILABLE", detail, title: "Unavailable" } });
  });
}
