import { globSync, readFileSync } from "node:fs";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Files that import test/support/long.ts: those with tests that have a long form. */
function withLongForm(): string[] {
  return globSync("test/**/*.test.ts", { cwd: import.meta.dirname }).filter((file) =>
    readFileSync(`${import.meta.dirname}/${file}`, "utf8").includes("/support/long.ts"),
  );
}

/** Files that take long come first, so that none of them is alone at the end: they wait, or crash work at each step. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const places = [
      "unit/",
      "docs/",
      "redis/",
      "contract/",
      "web/",
      "e2e/",
      "redis/engine/",
      // Their long forms simulate for minutes.
      "redis/limiter/bucket-",
      "schedules/window",
      "e2e/waves",
      "simulation/",
      "redis/inventory/random-",
      // It waits for a minute.
      "contract/authkeys-of-",
    ];
    const rank = ({ moduleId }: TestSpecification): number =>
      places.findLastIndex((place) => moduleId.includes(`/test/${place}`));
    return (await super.sort(files)).toSorted((a, b) => rank(b) - rank(a));
  }
}

const isLong = Number(process.env.SIMFLEET_TEST_LONG ?? 0) > 0;

// For the tests and all processes that they start: compiling the same packages again costs more than most tests.
process.env["NODE_COMPILE_CACHE"] ??= `${import.meta.dirname}/node_modules/.cache/compiled`;

/** Tests of what the dashboard's build collects. Vite loads their modules; those of all others are loaded by Node, faster. */
const bundled = ["test/unit/web/sentences.test.ts"];
const redis = "test/support/redis-global-setup.ts";
const all = {
  globalSetup: [redis, "test/support/built-cli-setup.ts"],
  include: ["test/**/*.test.ts"],
  exclude: bundled,
};
/** Those of `npm run test:unit` need neither processes nor Redis, those of `npm test` start neither dist/ nor a browser. */
const suites: Partial<Record<string, object>> = {
  unit: { include: ["test/unit/**/*.test.ts", "test/docs/**/*.test.ts"], exclude: bundled },
  source: { ...all, globalSetup: [redis], exclude: [...bundled, "test/e2e/**", "test/web/**"] },
  long: { ...all, include: withLongForm() },
  // Modes of Vitest without `--mode`, and of tools that read this file.
  test: all,
  development: all,
  production: all,
};

function suiteOf(mode: string): object {
  const suite = suites[mode];
  if (suite === undefined) throw new Error(`No suite is named ${mode}: ${Object.keys(suites).join(", ")}`);
  return suite;
}

export default defineConfig(({ mode }) => ({
  test: {
    // Many times of what any test takes, since the machine of a CI may be slow and shared.
    testTimeout: 300_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 10_000 } },
    pool: "forks",
    setupFiles: ["test/support/forget-secrets.ts"],
    // Most files wait for windows, deadlines and processes, so that two cores have time for more than two of them. Long
    // forms compute and start processes more of the time.
    maxWorkers: isLong ? 3 : 4,
    maxConcurrency: 3,
    sequence: { sequencer: LongestFirst },
    // Files share workers: importing the program anew for each takes a third of the whole time.
    isolate: false,
    projects: [
      {
        extends: true,
        test: {
          name: "simfleet",
          ...suiteOf(isLong ? "long" : mode),
          experimental: { viteModuleRunner: false },
        },
      },
      ...(isLong ? [] : [{ extends: true as const, test: { name: "bundled", include: bundled } }]),
    ],
  },
}));
