/** A worker with its dashboard, the sandbox behind it, and a browser: one of each for a file of tests. */
import type { Browser } from "playwright-core";
import { beforeAll, describe, expect, onTestFinished } from "vitest";
import { until } from "../../support/until.ts";
import { CliHarness, type CliHarnessOptions } from "../../e2e/support/cli-harness.ts";
import type { RunningProcess } from "../../e2e/support/process.ts";
import { type PageOptions, openBrowser, WatchedPage, withoutBrowser } from "./browser.ts";
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

export class WebHarness implements AsyncDisposable {
  readonly cli: CliHarness;
  /** `http://127.0.0.1:41234` */
  readonly origin: string;
  readonly #browser: Browser;
  #worker: RunningProcess;

  private constructor(deps: { cli: CliHarness; origin: string; browser: Browser; worker: RunningProcess }) {
    this.cli = deps.cli;
    this.origin = deps.origin;
    this.#browser = deps.browser;
    this.#worker = deps.worker;
  }

  static async open({ env, limits, writeFixtures: own, ...options }: HarnessOptions = {}): Promise<WebHarness> {
    const browser = await openBrowser();
    const cli = await CliHarness.open({
      ...sandboxFixtures,
      ...options,
      limits: { Credential: 1_000, Group: 1_000, Operator: 1_000, ...limits },
      // Tests ask as often as they can while they wait.
      env: { ...environmentFixtures, SIMFLEET_HTTP_REQUESTS_PER_MINUTE: "1000000", ...env },
    });
    writeFixtures(cli, own?.(cli));
    const worker = await cli.worker();
    const [, origin = ""] = await worker.said(/"http":"(http:[^"]+)"/);
    return new WebHarness({ cli, origin, browser, worker });
  }

  /** A page of the test's own, with nothing kept from others; the test fails where a fault is left on it. */
  async page(options: PageOptions): Promise<WatchedPage> {
    const watched = await WatchedPage.open(this.#browser, this.origin, options);
    onTestFinished(async () => {
      await watched[Symbol.asyncDispose]();
      expect(watched.faults).toEqual([]);
    });
    return watched;
  }

  async stopWorker(): Promise<void> {
    this.#worker.kill("SIGTERM");
    await this.#worker.ended;
  }

  /** Another worker where the first one was. */
  async startWorker(): Promise<void> {
    this.#worker = await this.cli.worker({ SIMFLEET_HTTP_PORT: new URL(this.origin).port });
  }

  /** Asks the control API without a browser. */
  async ask<T>(path: string, { method = "GET", csv, as = "admin" }: Asking = {}): Promise<T> {
    const authorization = `Bearer ${tokens[as]}`;
    const answer = await fetch(this.origin + path, {
      method,
      headers: { authorization, ...(csv === undefined ? {} : { "content-type": "text/csv" }) },
      ...(csv === undefined ? {} : { body: csv }),
    });
    if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`);
    return (await answer.json()) as T;
  }

  /** Has the fleet read to its end. */
  async sync(): Promise<void> {
    await this.ask("/v1/syncs", { method: "POST" });
    await until("the fleet was read", async () => {
      const { syncs } = await this.ask<{ syncs: { state: string }[] }>("/v1/syncs");
      return syncs[0]?.state === "finished";
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser.close();
    await this.cli[Symbol.asyncDispose]();
  }
}

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
