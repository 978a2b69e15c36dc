/** Rewrites docs/reference/errors.md from the catalogue of errors: node scripts/document-errors.ts */
import { readFileSync, writeFileSync } from "node:fs";
import { errorCatalogue } from "#core/errors.ts";

const page = new URL("../docs/reference/errors.md", import.meta.url);
const begin = "<!-- the table is made by scripts/document-errors.ts -->";

const waits = {
  never: "no",
  later: "yes, after waiting",
  retry: "yes, with backoff",
} as const;

/** The page as it should be: its own text, then the table. */
export function errorsPage(present: string): string {
  const head = present.slice(0, present.indexOf(begin));
  const rows = Object.entries(errorCatalogue).map(
    ([code, { disposition, exitCode, meaning }]) =>
      `| \`${code}\` | ${meaning} | ${waits[disposition]} | ${exitCode} |`,
  );
  return `${head}${begin}\n\n| code | meaning | retry | exit code |\n|---|---|---|---|\n${rows.join("\n")}\n`;
}

if (import.meta.main) writeFileSync(page, errorsPage(readFileSync(page, "utf8")));
