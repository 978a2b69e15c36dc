/** How much a browser has to fetch, and that nothing in it needs what the content security policy forbids. */
import { globSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { builtCli } from "../e2e/support/built-cli.ts";

const maxBytes = 70_000;
let files: { name: string; text: string; bytes: number }[];

describe("the dashboard bundle", () => {
  beforeAll(async () => {
    const folder = join(dirname((await builtCli()).path), "web");
    files = globSync("**/*.*", { cwd: folder }).map((name) => ({
      name,
      text: readFileSync(join(folder, name), "utf8"),
      bytes: statSync(join(folder, name)).size,
    }));
  });

  it.each(["br", "gz"])(
    "the scripts of the dashboard are at most 70 KB as .%s, under names of their content",
    (kind) => {
      const scripts = files.filter(({ name }) => name.endsWith(`.js.${kind}`));
      const bytes = scripts.reduce((sum, file) => sum + file.bytes, 0);
      console.log(`dist/web: ${bytes} bytes of JavaScript as .${kind}, of ${maxBytes} at most`);
      expect(scripts.length).toBe(files.filter(({ name }) => name.endsWith(".js")).length);
      for (const { name } of scripts) expect(name).toMatch(/^assets\/\w+-[\w-]{8}\.js\./);
      expect(bytes).toBeLessThan(maxBytes);
    },
  );

  it("the dashboard bundle has no inline script or style and references no other origin", () => {
    const page = files.find(({ name }) => name === "index.html")?.text ?? "";
    expect(page).toContain('<script type="module"');
    expect(page).not.toMatch(/<script(?![^>]*\ssrc=)[^>]*>|<style|\sstyle=|\son\w+=|https?:\/\//);
    for (const { text } of files.filter(({ name }) => name.endsWith(".css")))
      expect(text).not.toMatch(/url\((?!["']?data:)/);
  });
});
