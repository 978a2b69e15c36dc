/** How much a browser has to fetch, and that nothing in it needs what the content security policy forbids. */
import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { beforeAll, describe, expect, it } from "vitest";
import { builtCli } from "../e2e/support/built-cli.ts";

const mostBytes = 60_000;
let files: { name: string; text: string }[];

describe("the dashboard bundle", () => {
  beforeAll(async () => {
    const folder = join(dirname((await builtCli()).path), "web");
    files = globSync("**/*.*", { cwd: folder }).map((name) => ({
      name,
      text: readFileSync(join(folder, name), "utf8"),
    }));
  });

  it("the dashboard bundle has less than 60 KB of gzipped JavaScript", () => {
    const scripts = files.filter(({ name }) => name.endsWith(".js"));
    const bytes = scripts.reduce((sum, { text }) => sum + gzipSync(text, { level: 9 }).length, 0);
    console.log(`dist/web: ${bytes} bytes of JavaScript, gzipped, of ${mostBytes} at most`);
    expect(scripts.length).toBeGreaterThan(0);
    expect(bytes).toBeLessThan(mostBytes);
  });

  it("the dashboard bundle has no inline script or style and references no other origin", () => {
    const page = files.find(({ name }) => name === "index.html")?.text ?? "";
    expect(page).toContain('<script type="module"');
    expect(page).not.toMatch(/<script(?![^>]*\ssrc=)[^>]*>|<style|\sstyle=|\son\w+=|https?:\/\//);
    for (const { text } of files.filter(({ name }) => name.endsWith(".css")))
      expect(text).not.toMatch(/url\((?!["']?data:)/);
  });
});
