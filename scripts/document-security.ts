/**
 * Rewrites the table of docs/security.md from the tests: `node scripts/document-security.ts`. A
 * test that verifies a guarantee has the line `// Shows S5.` above it.
 */
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const page = new URL("../docs/security.md", import.meta.url);
const begin = "<!-- the table is made by scripts/document-security.ts -->";

interface Shown {
  readonly promise: string;
  readonly file: string;
  readonly title: string;
}

/** Every test that verifies a guarantee, by guarantee, then by file. */
export function shownPromises(): Shown[] {
  const shown = globSync("test/**/*.test.ts", { cwd: root }).flatMap((file): Shown[] => {
    const text = readFileSync(`${root}/${file}`, "utf8");
    return [...text.matchAll(/\/\/ Shows (S\d+(?:, S\d+)*)\.\n\s*(?:describe|test|it)\b[^"]*"([^"]+)"/g)].flatMap(
      ([, ids = "", title = ""]) => ids.split(", ").map((promise) => ({ promise, file, title })),
    );
  });
  const number = ({ promise }: Shown): number => Number(promise.slice(1));
  return shown.toSorted((a, b) => number(a) - number(b) || a.file.localeCompare(b.file));
}

/** The page as it should be: its own text, then the table. */
export function securityPage(present: string): string {
  const head = present.slice(0, present.indexOf(begin));
  const rows = shownPromises().map(
    ({ promise, file, title }) => `| ${promise} | [${file}](../${file}) | ${title.replaceAll("|", "\\|")} |`,
  );
  return `${head}${begin}\n\n| promise | file | test |\n|---|---|---|\n${rows.join("\n")}\n`;
}

if (import.meta.main) writeFileSync(page, securityPage(readFileSync(page, "utf8")));
