/**
 * Takes the screenshots of the dashboard for the README and docs/dashboard.md, as docs/pictures/dashboard-*.png: a
 * sandbox, a worker from dist/ and a run in progress, in the browser of the tests. `npm run screenshots`; with
 * `-- --all` every page in whole, light, dark and on a phone, into a temporary folder.
 */
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { startSandbox } from "#sandbox/server.ts";
import { RunningProcess } from "../test/e2e/support/process.ts";
import { type PageOptions, openBrowser, WatchedPage } from "../test/web/support/browser.ts";
import { writeFixtures, environmentFixtures, sandboxFixtures, tokens } from "../test/web/support/fixtures.ts";

const root = fileURLToPath(new URL("../", import.meta.url));
const isAll = process.argv.includes("--all");
const pictures = isAll ? join(tmpdir(), "simfleet-screenshots") : join(root, "docs", "pictures");
const maxBytes = 150_000;
const quota = { callsPerPeriod: 120, periodSeconds: 12 };

interface Picture {
  readonly name: string;
  readonly poll: PageOptions;
  readonly place: (runs: Runs) => string;
  /** What to do and wait for before the screenshot. */
  readonly ready: (page: Page) => Promise<void>;
  readonly height?: number;
}

interface Runs {
  /** In progress. */
  readonly current: string;
  /** Completed, with rejected rows. */
  readonly ended: string;
}

const wide = { width: 1200, token: tokens.operator } as const;
const phone = { width: 390, token: tokens.operator, scheme: "dark" } as const;
const heading = (name: string) => (page: Page) => page.getByRole("heading", { level: 1, name }).waitFor();

const taken: readonly Picture[] = [
  { name: "run", poll: wide, place: ({ current }) => `/#/runs/${current}`, ready: () => sleep(4_000), height: 900 },
  {
    name: "run-phone",
    poll: phone,
    place: ({ current }) => `/#/runs/${current}`,
    ready: () => sleep(4_000),
    height: 844,
  },
  { name: "new-run", poll: wide, place: () => "/#/new", ready: seePlan, height: 1_000 },
  {
    name: "sims",
    poll: wide,
    place: () => "/#/sims?where=speedClass%3Ds1.fast%20and%20status!%3Dactive",
    ready: (page) => page.getByText(/loaded$/).waitFor(),
    height: 540,
  },
  {
    name: "activity-dark",
    poll: { ...wide, scheme: "dark" },
    place: () => "/#/activity",
    ready: heading("Activity"),
    height: 900,
  },
  {
    name: "quota-dark",
    poll: { ...wide, scheme: "dark" },
    place: () => "/#/quota",
    ready: () => sleep(3_000),
    height: 760,
  },
  { name: "credentials", poll: wide, place: () => "/#/credentials", ready: heading("Credentials"), height: 900 },
];

async function seePlan(page: Page): Promise<void> {
  await page.getByLabel("Name", { exact: true }).fill("stadium, back to slow");
  await page.getByLabel("CSV file", { exact: true }).setInputFiles(fleetFile);
  await page.getByLabel(/^Skip .* invalid rows$/).check();
  await page.getByRole("table", { name: "Rows of the plan" }).waitFor();
}

/** Every page, for `--all`. */
const pages: Readonly<Record<string, Pick<Picture, "place" | "ready">>> = {
  overview: { place: () => "/", ready: heading("Overview") },
  sims: { place: () => "/#/sims", ready: (page) => page.getByText(/loaded$/).waitFor() },
  sim: { place: () => `/#/sims/${sandbox.state.sims.simIdAt(3)}`, ready: heading("SIM ") },
  runs: { place: () => "/#/runs", ready: heading("Runs") },
  run: { place: ({ current }) => `/#/runs/${current}`, ready: () => sleep(3_000) },
  "run-ended": { place: ({ ended }) => `/#/runs/${ended}`, ready: () => sleep(3_000) },
  "new-run": { place: () => "/#/new", ready: seePlan },
  schedules: { place: () => "/#/schedules", ready: heading("Schedules") },
  credentials: { place: () => "/#/credentials", ready: heading("Credentials") },
  quota: { place: () => "/#/quota", ready: () => sleep(2_000) },
  summary: { place: () => "/#/activity", ready: heading("Activity") },
  events: { place: () => "/#/activity/events", ready: heading("Activity") },
  audit: { place: () => "/#/activity/audit", ready: heading("Activity") },
};
const looks: readonly (PageOptions & { readonly look: string; readonly height: number })[] = [
  { look: "light", width: 1280, scheme: "light", token: tokens.admin, height: 900 },
  { look: "dark", width: 1280, scheme: "dark", token: tokens.admin, height: 900 },
  { look: "phone", width: 390, scheme: "light", token: tokens.admin, height: 844 },
];
const allTaken = Object.entries(pages).flatMap(([name, page]) =>
  looks.map(({ look, height, ...poll }): Picture => ({ ...page, name: `${name}-${look}`, poll, height })),
);

const folder = mkdtempSync(join(tmpdir(), "simfleet-pictures-"));
const fleetFile = join(folder, "stadium.csv");
const sandbox = await startSandbox({
  ...sandboxFixtures,
  port: 0,
  limits: { Sim: quota.callsPerPeriod, Credential: 600, Group: 600, Operator: 600, Auth: 600 },
  periodSeconds: quota.periodSeconds,
  latencyMs: [15, 60],
});
writeFixtures({ folder, sandbox });
const worker = startWorker(folder);
try {
  const [, origin = ""] = await worker.said(/"http":"(http:[^"]+)"/);
  await takeAll(origin);
} finally {
  worker.kill("SIGTERM");
  await worker.ended;
  await sandbox.close();
  rmSync(folder, { recursive: true, force: true });
}

function startWorker(cwd: string): RunningProcess {
  return new RunningProcess({
    program: process.execPath,
    args: [join(root, "dist", "cli.js"), "worker"],
    cwd,
    env: {
      PATH: process.env.PATH ?? "",
      HOME: process.env.HOME ?? cwd,
      SIMFLEET_DATA_DIR: join(cwd, "data"),
      SIMFLEET_HTTP_PORT: "0",
      SIMFLEET_ENDPOINT_GLOBAL: sandbox.url,
      SIMFLEET_AUTH_KEY_ID: sandbox.options.authKeyId,
      SIMFLEET_AUTH_KEY: sandbox.options.authKey,
      SIMFLEET_RATE_PERIOD_SECONDS: String(quota.periodSeconds),
      SIMFLEET_RESERVE: "0.1",
      SIMFLEET_HTTP_REQUESTS_PER_MINUTE: "1000000",
      ...environmentFixtures,
    },
  });
}

async function takeAll(origin: string): Promise<void> {
  const ask = async (path: string, body?: string): Promise<Record<string, unknown>> => {
    const headers = {
      authorization: `Bearer ${tokens.operator}`,
      ...(body === undefined ? {} : { "content-type": "text/csv" }),
    };
    const answer = await fetch(origin + path, { method: "POST", headers, ...(body === undefined ? {} : { body }) });
    if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`);
    return (await answer.json()) as Record<string, unknown>;
  };
  await ask("/v1/syncs");
  await sleep(8_000);
  writeFileSync(fleetFile, rowsOf("s1.slow"));
  const mixed = `${rowsOf("s1.standard", 40)}${[7, 8, 9].map((n) => `894231999999999999${n},s1.fast,gone\n`).join("")}`;
  const ended = String((await ask("/v1/runs?partial=true&name=gateways%20to%20standard", mixed)).runId);
  await sleep(8_000);
  const run = await ask("/v1/runs?partial=true&skipUnchanged=true&rate=400&name=stadium%20up", rowsOf("s1.fast"));
  await sleep(20_000);
  mkdirSync(pictures, { recursive: true });
  const browser = await openBrowser();
  try {
    for (const picture of isAll ? allTaken : taken) {
      await using watched = await WatchedPage.open(browser, origin, picture.poll);
      const { page } = watched;
      await page.setViewportSize({ width: picture.poll.width, height: picture.height ?? 860 });
      await page.goto(picture.place({ current: String(run.runId), ended }));
      await picture.ready(page);
      await page
        .getByText(/^Loading /)
        .first()
        .waitFor({ state: "detached" });
      await page.mouse.move(0, 0);
      await sleep(500);
      const path = join(pictures, `dashboard-${picture.name}.png`);
      await page.screenshot({ path, fullPage: isAll });
      const { size } = statSync(path);
      console.log(`${path}: ${Math.ceil(size / 1_000)} KB`);
      if (size > maxBytes && !isAll) throw new Error(`${path} is larger than ${maxBytes} bytes`);
      if (watched.faults.length > 0) throw new Error(watched.faults.join("\n"));
    }
  } finally {
    await browser.close();
  }
}

/** A file for SIMs of the sandbox, with three invalid rows; their class is one that the SIMs may have. */
function rowsOf(speedClass: string, rows = 900): string {
  const lines = Array.from({ length: rows }, (_, n) => `${sandbox.state.sims.simIdAt(n)},${speedClass},gateway-${n}`);
  const spoiled =
    rows < 900
      ? []
      : [
          `8.94231E+18,${speedClass},ruined`,
          `,${speedClass},nameless`,
          `${sandbox.state.sims.simIdAt(1)},s1.minimum,twice`,
        ];
  return ["simId,speedClass,asset", ...lines, ...spoiled, ""].join("\n");
}
