import { defineConfig } from "vitest/config";

export default defineConfig({
  resolve: { conditions: ["source"] },
  ssr: { resolve: { conditions: ["source", "node", "import", "module", "default"] } },
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/redis-global-setup.ts"],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    pool: "forks",
    execArgv: ["--conditions=source"],
  },
});
