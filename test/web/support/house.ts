/** A furnished worker with its dashboard, the sandbox behind it, and a browser: one of each for a file of tests. */
import type { Browser } from "playwright-core";
import { Walk, type WalkOptions } from "../../walk/support/walk.ts";
import type { RunningProcess } from "../../walk/support/process.ts";
import { type Look, openBrowser, WatchedPage } from "./browser.ts";
import { furnish, furnishedEnvironment, furnishedSandbox, tokens } from "./furniture.ts";

export class WebHouse implements AsyncDisposable {
  readonly walk: Walk;
  /** `http://127.0.0.1:41234` */
  readonly origin: string;
  readonly #browser: Browser;
  #worker: RunningProcess;

  private constructor(parts: { walk: Walk; origin: string; browser: Browser; worker: RunningProcess }) {
    this.walk = parts.walk;
    this.origin = parts.origin;
    this.#browser = parts.browser;
    this.#worker = parts.worker;
  }

  static async open({ env, limits, ...options }: WalkOptions = {}): Promise<WebHouse> {
    const browser = await openBrowser();
    const walk = await Walk.open({
      ...furnishedSandbox,
      ...options,
      limits: { Credential: 1_000, Group: 1_000, Operator: 1_000, ...limits },
      env: { ...furnishedEnvironment, ...env },
    });
    furnish(walk);
    const worker = await walk.worker();
    const [, origin = ""] = await worker.said(/"http":"(http:[^"]+)"/);
    return new WebHouse({ walk, origin, browser, worker });
  }

  /** A page of its own, with nothing kept from others. */
  page(look: Look): Promise<WatchedPage> {
    return WatchedPage.open(this.#browser, this.origin, look);
  }

  async stopWorker(): Promise<void> {
    this.#worker.kill("SIGTERM");
    await this.#worker.ended;
  }

  /** Another worker where the first one was. */
  async startWorker(): Promise<void> {
    this.#worker = await this.walk.worker({ SIMFLEET_HTTP_PORT: new URL(this.origin).port });
  }

  /** Asks the control API without a browser; `csv` is handed over. */
  async ask<T>(path: string, { method = "GET", csv }: { method?: "GET" | "POST"; csv?: string } = {}): Promise<T> {
    const authorization = `Bearer ${tokens.admin}`;
    const answer = await fetch(this.origin + path, {
      method,
      headers: { authorization, ...(csv === undefined ? {} : { "content-type": "text/csv" }) },
      ...(csv === undefined ? {} : { body: csv }),
    });
    if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`);
    return (await answer.json()) as T;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser.close();
    await this.walk[Symbol.asyncDispose]();
  }
}
