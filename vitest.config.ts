import { defineConfig } from "vitest/config";

export default defineConfig({
  resolve: { conditions: ["source"] },
  ssr: { resolve: { conditions: ["source", "node", "default"] } },
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/redis-global-setup.ts", "test/support/built-cli-setup.ts"],
    testTimeout: 120_000,
    hookTimeout: 60_000,
    pool: "forks",
    // Most files wait for windows, deadlines and processes: running two at once takes little more than half the time.
    maxWorkers: 2,
    execArgv: ["--conditions=source"],
  },
});
