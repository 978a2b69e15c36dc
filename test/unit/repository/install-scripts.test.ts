import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const root = new URL("../../../", import.meta.url).pathname;
const read = (name: string): unknown => JSON.parse(readFileSync(join(root, name), "utf8"));

// Shows S15.
it("every package with an install script is listed and none of the scripts is allowed", () => {
  const lock = read("package-lock.json") as { packages: Record<string, { hasInstallScript?: boolean }> };
  const { allowScripts } = read("package.json") as { allowScripts: Record<string, boolean> };
  const withScript = Object.entries(lock.packages)
    .filter(([path, { hasInstallScript }]) => path !== "" && hasInstallScript === true)
    .map(([path]) => path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length));
  expect([...new Set(withScript)].toSorted()).toEqual(Object.keys(allowScripts).toSorted());
  expect(Object.values(allowScripts).filter(Boolean)).toEqual([]);
});
