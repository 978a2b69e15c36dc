/** Each source file that the documentation names exists. */
import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const root = new URL("../../", import.meta.url);
const sources = globSync(["*", "{src,web/src,test,bench,scripts,config,deploy,examples,docs}/**/*"], { cwd: root });
const pages = globSync(["docs/**/*.md", "*.md"], { cwd: root });
/** A path or a name of a file of source, in code or in the target of a link. */
const named = /(?<![\w.$*<{-])(?:[\w.-]+\/)*[\w-]+(?:\.[\w-]+)*\.(?:ts|tsx|lua|mjs)(?![\w*>}])/g;

test.each(pages)("%s names only source files that exist", (page) => {
  const text = readFileSync(new URL(page, root), "utf8");
  // The page tells the reader to write these.
  const own = [...text.matchAll(/cat > ([\w.-]+)/g)].map(([, name]) => name);
  // Such as `jobs/<feature>`: each of its files may be named alone; any other name alone is that of one file.
  const folders = [...text.matchAll(/`([\w/]+\/)<\w+>`/g)].map(([, folder]) => `src/${folder}*/`);
  const isThere = (path: string): boolean => {
    const found = sources.filter((source) => source === path || source.endsWith(`/${path}`));
    if (path.includes("/") || found.length < 2) return found.length > 0;
    return folders.some((folder) => globSync(folder + path, { cwd: root }).length > 0);
  };
  const files = [...text.matchAll(named)].map(([path]) => path.replace(/^(\.{1,2}\/)+/, ""));
  const missing = files.filter((path) => !own.includes(path) && !isThere(path));
  expect([...new Set(missing)]).toEqual([]);
});
