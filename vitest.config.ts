import { globSync, readFileSync } from "node:fs";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

const all = "test/**/*.test.ts";

/** Files that import test/support/long.ts: those with tests that have a long form. */
function withLongForm(): string[] {
  return globSync(all, { cwd: import.meta.dirname }).filter((file) =>
    readFileSync(`${import.meta.dirname}/${file}`, "utf8").includes("/support/long.ts"),
  );
}

/** Files that wait for processes and windows come first, so that none of them is alone at the end. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const folders = ["unit", "docs", "redis", "contract", "web", "walk"];
    const rank = ({ moduleId }: TestSpecification): number =>
      folders.findIndex((folder) => moduleId.includes(`/test/${folder}/`));
    return (await super.sort(files)).toSorted((a, b) => rank(b) - rank(a));
  }
}

const isLong = process.env.SIMFLEET_TEST_LONG === "1";

export default defineConfig({
  resolve: { conditions: ["simfleet-source"] },
  ssr: { resolve: { conditions: ["simfleet-source", "node", "default"] } },
  test: {
    include: isLong ? withLongForm() : [all],
    globalSetup: ["test/support/redis-global-setup.ts", "test/support/built-cli-setup.ts"],
    testTimeout: 120_000,
    hookTimeout: 60_000,
    pool: "forks",
    // Most files wait for windows, deadlines and processes, so that two cores have time for more than two of them. Long
    // forms compute and start processes most of the time.
    maxWorkers: isLong ? 2 : 3,
    maxConcurrency: 3,
    sequence: { sequencer: LongestFirst },
    execArgv: ["--conditions=simfleet-source"],
  },
});
