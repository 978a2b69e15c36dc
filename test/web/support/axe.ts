/** What axe finds on a page of the dashboard. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { WatchedPage } from "./browser.ts";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const options = { resultTypes: ["violations"] };
/** The first one is tried with all rules, where it is narrowest. */
const looks = [
  { width: 360, scheme: "light" },
  { width: 1280, scheme: "dark" },
  { width: 1280, scheme: "light" },
  { width: 360, scheme: "dark" },
] as const;

/** What axe finds to be serious or critical, one line each; of dark pages by the one rule that depends on colors. */
export async function findings({ page }: WatchedPage, scheme: "light" | "dark" = "light"): Promise<string[]> {
  if (!(await page.evaluate<boolean>("'axe' in globalThis"))) await page.evaluate(axe);
  const found = await page.evaluate<{ id: string; impact: string; nodes: { html: string }[] }[]>(
    `axe.run(document, ${JSON.stringify(scheme === "dark" ? { ...options, runOnly: ["color-contrast"] } : options)}).then(({ violations }) => violations)`,
  );
  return found
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}

/** In the page: the labels of cells that are shown as cards although they are empty. */
const labelsWithoutValue = `[...document.querySelectorAll(".cards td")]
  .filter((cell) => getComputedStyle(cell, "::before").content !== "none" && getComputedStyle(cell).display !== "none")
  .filter((cell) => cell.textContent.trim() === "" && cell.querySelector("svg, input, button, [role=img]") === null)
  .map((cell) => cell.dataset.label)`;

/**
 * The same wide and narrow, light and dark, whether the page is wider than its window, and whether a card has a label
 * without a value.
 * @param count of the looks
 */
export async function findingsInLooks(watched: WatchedPage, name: string, count: 1 | 4): Promise<string[]> {
  const { page } = watched;
  const found: string[] = [];
  for (const { width, scheme } of looks.slice(0, count)) {
    await page.setViewportSize({ width, height: 860 });
    await page.emulateMedia({ colorScheme: scheme });
    await page.waitForFunction(`innerWidth === ${width} && document.documentElement.dataset.theme === "${scheme}"`);
    const look = `${name}, ${width} px, ${scheme}`;
    found.push(...(await findings(watched, scheme)).map((finding) => `${look}: ${finding}`));
    if ((await watched.overflow()) > 0) found.push(`${look}: wider than its window`);
    const labels = await page.evaluate<string[]>(labelsWithoutValue);
    found.push(...labels.map((label) => `${look}: "${label}" has no value`));
  }
  return found;
}
