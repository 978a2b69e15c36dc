/**
 * Pictures of every page and dialog of the dashboard, for somebody to look at: light and dark, wide and narrow, with data,
 * without, while it loads, while the worker fails, and for a viewer. Named `page.state.scheme.width.png`.
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
  /** Fills in the form of a new run up to its plan. */
  readonly plan: (page: Page) => Promise<void>;
}

interface Look {
  /** In the address. */
  readonly place: string;
  /** What to do before the picture. */
  readonly act?: (page: Page) => Promise<void>;
  /** Default: all. */
  readonly in?: readonly State[];
}

const states = ["full", "empty", "loading", "broken", "read-only"] as const;
type State = (typeof states)[number];

/** Requests without which nobody is signed in. */
const ofSession = /\/v1\/(?:me|profiles)$/;

export async function takeEveryLook(browser: Browser, looks: Looks): Promise<void> {
  mkdirSync(looks.folder, { recursive: true });
  const pages = {
    ...Object.fromEntries(
      [
        "overview",
        "fleet",
        "sims",
        "new",
        "runs",
        "quota",
        "credentials",
        "schedules",
        "freezes",
        "events",
        "audit",
      ].map((place): [string, Look] => [place, { place }]),
    ),
    "sims-filter": { place: "sims?where=speedClass%3Ds1.fast" },
    sim: { place: `sims/${looks.sim}` },
    run: { place: `runs/${looks.runId}` },
    missing: { place: "no-such-page" },
    plan: { place: "new", act: looks.plan, in: ["full"] },
    palette: { place: "overview", act: seePalette, in: ["full", "broken", "read-only"] },
    shortcuts: { place: "overview", act: (page) => page.keyboard.press("?"), in: ["full"] },
    dialog: { place: "freezes", act: seeDialog, in: ["full"] },
  } satisfies Readonly<Record<string, Look>> as Readonly<Record<string, Look>>;
  for (const state of states) {
    const seen = Object.entries(pages).filter(([, look]) => look.in?.includes(state) ?? true);
    for (const [name, { place, act }] of seen) {
      const origin = state === "empty" ? looks.emptyOrigin : looks.origin;
      const token = state === "read-only" ? tokens.viewer : tokens.admin;
      await using watched = await WatchedPage.open(browser, origin, { width: 1280, token });
      await prepare(watched.page, state);
      await watched.page.goto(`/#/${place}`);
      await watched.page.locator("h1").waitFor();
      await sleep(state === "full" ? 1_500 : 900);
      await act?.(watched.page);
      await takeLooks(watched, join(looks.folder, `${name}.${state}`));
      // Refused requests are what these states are about.
      for (const fault of watched.faults.filter((one) => !one.includes(" answered "))) {
        console.log(`${name}, ${state}: ${fault}`);
      }
    }
  }
}

/** A run and the overview while the platform answers nothing but errors. */
export async function takeProblem(browser: Browser, { folder, origin, runId }: Looks): Promise<void> {
  for (const [name, place] of Object.entries({ overview: "overview", runs: "runs", run: `runs/${runId}` })) {
    await using watched = await WatchedPage.open(browser, origin, { width: 1280, token: tokens.admin });
    await watched.page.goto(`/#/${place}`);
    await watched.page.locator("h1").waitFor();
    await sleep(1_500);
    await takeLooks(watched, join(folder, `${name}.problem`));
  }
}

async function seePalette(page: Page): Promise<void> {
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Search and commands" }).waitFor();
  await page.keyboard.type("st");
  await sleep(800);
}

async function seeDialog(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Freeze all changes" }).click();
  await page.getByRole("dialog").waitFor();
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
    const detail = "Redis is not responding: connect ECONNREFUSED";
    return route.fulfill({ status: 503, json: { code: "STORE_UNAVAILABLE", detail, title: "Unavailable" } });
  });
}
