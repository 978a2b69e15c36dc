/** A worker with its dashboard and the sandbox behind it, for a file of tests, and pages of the browser. */
import { beforeAll, describe, expect, onTestFinished } from "vitest";
import { until } from "../../support/until.ts";
import { CliHarness, type CliHarnessOptions, type RunDocument } from "../../e2e/support/cli-harness.ts";
import { type PageOptions, sharedBrowser, WatchedPage, withoutBrowser } from "./browser.ts";
import { type Fixtures, writeFixtures, environmentFixtures, sandboxFixtures, tokens } from "./fixtures.ts";

interface HarnessOptions extends CliHarnessOptions {
  /** Puts into the folder what the configuration needs, and says what it has of its own. */
  readonly writeFixtures?: (cli: CliHarness) => Fixtures;
}

interface Asking {
  readonly method?: "GET" | "POST" | "DELETE";
  /** A file to upload. */
  readonly csv?: string;
  readonly as?: keyof typeof tokens;
}

async function openWeb({ env, limits, writeFixtures: own, ...more }: HarnessOptions = {}) {
  const browser = await sharedBrowser();
  const cli = await CliHarness.open({
    ...sandboxFixtures,
    ...more,
    limits: { Credential: 1_000, Group: 1_000, Operator: 1_000, ...limits },
    // Tests ask as often as they can while they wait.
    env: { ...environmentFixtures, SIMFLEET_HTTP_REQUESTS_PER_MINUTE: "1000000", ...env },
  });
  writeFixtures(cli, own?.(cli));
  let worker = await cli.worker();
  const [, origin = ""] = await worker.said(/"http":"(http:[^"]+)"/);
  return {
    cli,
    /** `http://127.0.0.1:41234` */
    origin,

    /** A page of the test's own, with nothing kept from others; the test fails where a fault is left on it. */
    async page(options: PageOptions): Promise<WatchedPage> {
      const watched = await WatchedPage.open(browser, origin, options);
      onTestFinished(async () => {
        await watched[Symbol.asyncDispose]();
        expect(watched.faults).toEqual([]);
      });
      return watched;
    },

    /** The same, at a place of the dashboard. */
    async open(path: string, options: PageOptions): Promise<WatchedPage> {
      const watched = await this.page(options);
      await watched.page.goto(path);
      return watched;
    },

    /** A file for the first SIMs, as text. */
    async csv(rows: number, classes?: readonly string[]): Promise<string> {
      return cli.read(await cli.fleet("fleet.csv", rows, classes));
    },

    /** Waits until a run has ended. */
    async ended(runId: string): Promise<void> {
      const finishedAt = async () => (await this.ask<RunDocument>(`/v1/runs/${runId}`)).finishedAt;
      await until("the run is over", async () => (await finishedAt()) !== null);
    },

    async stopWorker(): Promise<void> {
      worker.kill("SIGTERM");
      await worker.ended;
    },

    /** Another worker where the first one was. */
    async startWorker(): Promise<void> {
      worker = await cli.worker({ SIMFLEET_HTTP_PORT: new URL(origin).port });
    },

    /** Asks the control API without a browser. */
    async ask<T>(path: string, { method = "GET", csv, as = "admin" }: Asking = {}): Promise<T> {
      const authorization = `Bearer ${tokens[as]}`;
      const answer = await fetch(origin + path, {
        method,
        headers: { authorization, ...(csv === undefined ? {} : { "content-type": "text/csv" }) },
        ...(csv === undefined ? {} : { body: csv }),
      });
      if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`);
      return (await answer.json()) as T;
    },

    /** Has the fleet read to its end. */
    async sync(): Promise<void> {
      await this.ask("/v1/syncs", { method: "POST" });
      await until("the fleet was read", async () => {
        const { syncs } = await this.ask<{ syncs: { state: string }[] }>("/v1/syncs");
        return syncs[0]?.state === "finished";
      });
    },

    [Symbol.asyncDispose]: () => cli[Symbol.asyncDispose](),
  };
}

export type WebHarness = Awaited<ReturnType<typeof openWeb>>;

export const WebHarness = { open: openWeb };

/** Tests with one harness, which are skipped with the reason where there is no browser. */
export function describeInBrowser(name: string, open: () => Promise<WebHarness>, tests: () => void): void {
  const reason = withoutBrowser === undefined ? "" : ` (${withoutBrowser})`;
  describe.skipIf(withoutBrowser)(`${name}${reason}`, () => {
    beforeAll(async () => {
      const harness = await open();
      return () => harness[Symbol.asyncDispose]();
    });
    tests();
  });
}
