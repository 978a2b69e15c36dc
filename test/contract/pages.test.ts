/**
 * The page that comes with a library, the description of the API, in a real browser under our content security policy.
 * It has to work with nothing rejected, nothing fetched from other origins and nothing on the console.
 */
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { sharedBrowser, WatchedPage, withoutBrowser } from "../web/support/browser.ts";
import { isLong } from "../support/long.ts";
import { ControlHarness, tokens } from "./support/control-harness.ts";

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
  await using watched = await WatchedPage.open(await sharedBrowser(), harness.url, { width: 1280 });
  const { page, faults } = watched;
  page.on("requestfailed", (request) => faults.push(`${request.url()}: ${request.failure()?.errorText}`));
  page.on("console", (message) => message.type() === "warning" && faults.push(message.text()));
  await page.goto("/docs", { waitUntil: "networkidle" });
  expect(faults).toEqual([]);
  await authorize(page);
  await page.locator("#operations-me-get_v1_me, [id^=operations-] .opblock", { hasText: "/v1/me" }).first().click();
  await page.getByRole("button", { name: "Try it out" }).first().click();
  await page.getByRole("button", { name: "Execute" }).first().click();
  await page.locator(".live-responses-table", { hasText: '"role": "viewer"' }).waitFor();
  expect(faults).toEqual([]);
});
