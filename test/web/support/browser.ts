/**
 * A real browser for the tests of the dashboard. Every page is watched: an error on its console, a thrown error, a
 * breach of the content security policy or a request to another origin is kept, and makes the test fail that asks.
 */
import { existsSync } from "node:fs";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";

/** The first one has no windows that it could show, and takes two thirds of the time of the other. */
const executablePath = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"].find((path) => existsSync(path));
const quiet = ["--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update"];
/** Pages for the address bar of each window, which are never seen: they took two thirds of the time of a new window. */
const unseen = "--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup";

/** Set where no browser is available; these tests are skipped then, and the reason is shown. */
export const withoutBrowser = process.env.SIMFLEET_TESTS_WITHOUT_BROWSER || undefined;

export async function openBrowser(): Promise<Browser> {
  if (executablePath === undefined) {
    throw new Error("The dashboard is tested in a browser, and there is none: apt-get install chromium-headless-shell");
  }
  const args = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-sync", unseen, ...quiet];
  return chromium.launch({ executablePath, args });
}

let shared: Promise<Browser> | undefined;

/** The one browser of this process, for all files of tests in it; it ends with the process. */
export function sharedBrowser(): Promise<Browser> {
  return (shared ??= openBrowser());
}

export interface PageOptions {
  readonly width: number;
  readonly scheme?: "light" | "dark";
  /** Lets axe in, which is no script of ours. */
  readonly isExamined?: boolean;
  /** Signed in with this token from the start. */
  readonly token?: string;
}

export class WatchedPage implements AsyncDisposable {
  readonly page: Page;
  /** What must not have happened. */
  readonly faults: string[] = [];
  readonly #context: BrowserContext;

  private constructor(page: Page, context: BrowserContext, origin: string) {
    this.page = page;
    this.#context = context;
    page.setDefaultTimeout(60_000);
    page.on("console", (message) => {
      // A rejected request is on the console too; whether it should be rejected is for the test to say.
      const isRequest = message.text().startsWith("Failed to load resource");
      if (message.type() === "error" && !isRequest) this.faults.push(message.text());
    });
    page.on("pageerror", (error) => this.faults.push(String(error)));
    page.on("request", (request) => {
      const url = request.url();
      const isOwn = url.startsWith(`${origin}/`) || url.startsWith(`blob:${origin}/`) || url.startsWith("data:");
      if (!isOwn) this.faults.push(`a request went to ${url}`);
    });
    page.on("response", (response) => {
      // Signing in with a wrong token is what some tests do.
      if (response.status() < 400 || response.status() === 401) return;
      this.faults.push(`${response.url()} answered ${response.status()}`);
    });
  }

  static async open(browser: Browser, origin: string, options: PageOptions): Promise<WatchedPage> {
    const context = await browser.newContext({
      baseURL: origin,
      viewport: { width: options.width, height: options.width < 600 ? 760 : 860 },
      colorScheme: options.scheme ?? "light",
      reducedMotion: "reduce",
      acceptDownloads: true,
      bypassCSP: options.isExamined ?? false,
    });
    const watched = new WatchedPage(await context.newPage(), context, origin);
    await watched.page.addInitScript(
      "addEventListener('securitypolicyviolation', (event) => console.error('CSP refused ' + event.violatedDirective + ' ' + event.blockedURI));",
    );
    if (options.token !== undefined) {
      await watched.page.addInitScript(`sessionStorage.setItem("simfleet.token", ${JSON.stringify(options.token)});`);
    }
    return watched;
  }

  /** How far the page reaches beyond the window, in pixels. */
  overflow(): Promise<number> {
    return this.page.evaluate<number>("document.documentElement.scrollWidth - innerWidth");
  }

  /** Puts the message of what was done away, so that it covers no button. */
  async putMessageAway(): Promise<void> {
    const button = this.page.getByRole("button", { name: "Dismiss" });
    await button.click();
    await button.waitFor({ state: "detached" });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#context.close();
  }
}

/** Enters a token where the dashboard asks for it. */
export async function signIn(page: Page, token: string): Promise<void> {
  await page.getByLabel("Token", { exact: true }).fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
}

/** Answers the question of a dialog. */
export async function confirm(page: Page, answer: string | RegExp): Promise<void> {
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: answer, exact: true }).click();
  await dialog.waitFor({ state: "detached" });
}

/** Presses a button, and answers the question that follows. */
export async function press(page: Page, button: string, answer: string | RegExp): Promise<void> {
  await page.getByRole("button", { name: button, exact: true }).click();
  await confirm(page, answer);
}
