/** Each source file that the documentation names exists. */
import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const root = new URL("../../", import.meta.url);
const sources = globSync("{src,web/src,test,bench,scripts,config,deploy,examples,docs}/**/*", { cwd: root });
const topLevel = globSync("*", { cwd: root });
const pages = globSync(["docs/**/*.md", "*.md"], { cwd: root });
/** A path or a name of a file of source, in code or in the target of a link. */
const named = /(?<![\w.$*<{-])(?:[\w.-]+\/)*[\w-]+(?:\.[\w-]+)*\.(?:ts|tsx|lua|mjs)(?![\w*>}])/g;

test.each(pages)("%s names only source files that exist", (page) => {
  const text = readFileSync(new URL(page, root), "utf8");
  // The page tells the reader to write these.
  const own = [...text.matchAll(/cat > ([\w.-]+)/g)].map(([, name]) => name);
  const files = [...text.matchAll(named)].map(([path]) => path.replace(/^(\.{1,2}\/)+/, ""));
  const missing = files.filter(
    (path) =>
      !own.includes(path) &&
      !topLevel.includes(path) &&
      !sources.some((source) => source === path || source.endsWith(`/${path}`)),
  );
  expect([...new Set(missing)]).toEqual([]);
});
