/**
 * The page that comes with a library, the description of the API, in a real browser under our content security policy.
 * It has to work with nothing rejected, nothing fetched from other origins and nothing on the console.
 */
import type { BrowserContext, Page } from "playwright-core";
import { expect, test } from "vitest";
import { sharedBrowser, withoutBrowser } from "../web/support/browser.ts";
import { isLong } from "../support/long.ts";
import { ControlHarness, tokens } from "./support/control-harness.ts";

/** What must not have happened on the pages of a context. */
function watch(context: BrowserContext, origin: string): string[] {
  const faults: string[] = [];
  context.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) faults.push(message.text());
  });
  context.on("weberror", (error) => faults.push(String(error.error())));
  context.on("request", (request) => {
    if (!/^(?:data|blob):/.test(request.url()) && new URL(request.url()).origin !== origin) {
      faults.push(`a request went to ${request.url()}`);
    }
  });
  context.on("requestfailed", (request) => faults.push(`${request.url()}: ${request.failure()?.errorText}`));
  context.on("response", (response) => {
    if (response.status() >= 400) faults.push(`${response.url()} answered ${response.status()}`);
  });
  return faults;
}

/** Signs in as the page asks for it. */
async function authorize(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Authorize" }).click();
  await page.getByLabel("Value").or(page.locator(".auth-container input")).first().fill(tokens.viewer);
  await page.locator(".auth-container").getByRole("button", { name: "Apply credentials" }).click();
  await page.locator(".modal-ux").getByRole("button", { name: "Close" }).last().click();
}

const name = "the page /docs executes an operation with a token";
const reason = withoutBrowser === undefined ? "" : ` (${withoutBrowser})`;
test.runIf(isLong && withoutBrowser === undefined)(name + reason, { retry: 2, timeout: 120_000 }, async () => {
  await using harness = await ControlHarness.open({ works: true });
  await using context = await (await sharedBrowser()).newContext({ baseURL: harness.url });
  const faults = watch(context, harness.url);
  const page = await context.newPage();
  await page.goto("/docs", { waitUntil: "networkidle" });
  expect(faults).toEqual([]);
  await authorize(page);
  await page.locator("#operations-me-get_v1_me, [id^=operations-] .opblock", { hasText: "/v1/me" }).first().click();
  await page.getByRole("button", { name: "Try it out" }).first().click();
  await page.getByRole("button", { name: "Execute" }).first().click();
  await page.locator(".live-responses-table", { hasText: '"role": "viewer"' }).waitFor();
  expect(faults).toEqual([]);
});
