/** What the help and the version load. Their time is measured by `npm run bench:start`; this is what decides it. */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { features } from "#features.ts";

/** The declaration of a feature, and its events. */
const modulesPerFeature = 2;

const root = fileURLToPath(new URL("../../../", import.meta.url));
/** Prints the address of each module as it is loaded. */
const hook = `
  import { registerHooks } from "node:module";
  import { writeSync } from "node:fs";
  registerHooks({ load: (url, context, next) => (writeSync(2, url + "\\n"), next(url, context)) });
`;

/** The addresses of what a script loads. */
function modulesOf(...script: readonly string[]): string[] {
  const { stderr, status } = spawnSync(
    process.execPath,
    ["--import", `data:text/javascript,${encodeURIComponent(hook)}`, ...script],
    { cwd: root, encoding: "utf8", env: { PATH: process.env.PATH ?? "" } },
  );
  expect(status).toBe(0);
  return stderr.split("\n").filter((line) => line.startsWith("file:"));
}

function packagesOf(modules: readonly string[]): readonly string[] {
  const names = modules.flatMap((url) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? []);
  return [...new Set(names)].toSorted();
}

test("a feature with a section, data, events, routes and commands loads no package until it is used", () => {
  expect(packagesOf(modulesOf("test/features/tickets/feature.ts"))).toEqual([]);
});

test.each(["--help", "--version"])("%s loads no package but the one that parses the command line", (option) => {
  const loaded = modulesOf("src/cli.ts", option);
  expect(packagesOf(loaded)).toEqual(["@commander-js/extra-typings", "commander"]);
  const max = 30 + modulesPerFeature * features.length;
  expect(loaded.length, "a module was added to the start of every command: load it when it is needed").toBeLessThan(
    max,
  );
});
