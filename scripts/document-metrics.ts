/** Rewrites the table of metrics in docs/deploy.md: node scripts/document-metrics.ts */
import { readFileSync, writeFileSync } from "node:fs";
import { counterCatalogue, histogramCatalogue, metricCatalogue } from "#telemetry/metrics.ts";

const page = new URL("../docs/deploy.md", import.meta.url);
const begin = "<!-- the table is made by scripts/document-metrics.ts -->";
const end = "<!-- end of the table -->";

/** The page as it should be: its own text, with the table in its place. */
export function operationsPage(present: string): string {
  const metrics = [
    ...Object.values(metricCatalogue),
    ...Object.values(counterCatalogue),
    ...Object.values(histogramCatalogue).map((histogram) => ({ kind: "histogram", ...histogram })),
  ];
  const rows = metrics.map(({ name, kind, labels, help }) => {
    const named = labels.map((label) => `\`${label}\``).join(", ");
    return `| \`${name}\` | ${kind} | ${named} | ${help} |`;
  });
  const head = present.slice(0, present.indexOf(begin));
  const rest = present.slice(present.indexOf(end));
  return `${head}${begin}\n\n| metric | kind | labels | is |\n|---|---|---|---|\n${rows.join("\n")}\n\n${rest}`;
}

if (import.meta.main) writeFileSync(page, operationsPage(readFileSync(page, "utf8")));
