#!/usr/bin/env node
/** The worker as a program of its own: its configuration comes from the environment, or from the usual file. */
import { loadConfig } from "#config/load.ts";
import { SimfleetError, messageOf } from "#core/errors.ts";
import { createLogger } from "#telemetry/logger.ts";
import { serve } from "./serve.ts";

const stop = new AbortController();
for (const name of ["SIGTERM", "SIGINT"] as const) process.on(name, () => stop.abort());
try {
  const config = loadConfig({ env: process.env });
  const logger = createLogger({ level: config.logLevel });
  await serve({ config, env: process.env, logger, stop: stop.signal });
  process.exit(0);
} catch (thrown) {
  createLogger({ level: "fatal" }).fatal({ error: thrown }, messageOf(thrown));
  process.exit(thrown instanceof SimfleetError ? thrown.exitCode : 4);
}
