#!/usr/bin/env node
/** The worker as a separate program, configured by the environment or the usual file. */
import { keepHeapSmall } from "#core/heap-room.ts";

keepHeapSmall();
const stop = new AbortController();
for (const name of ["SIGTERM", "SIGINT"] as const) process.on(name, () => stop.abort());
const [{ loadConfig }, { SimfleetError, messageOf }, { createLogger }, { serve }] = await Promise.all([
  import("#config/load.ts"),
  import("#core/errors.ts"),
  import("#telemetry/logger.ts"),
  import("#app/serve.ts"),
]);
try {
  const config = loadConfig({ env: process.env });
  const logger = createLogger({ level: config.logLevel });
  await serve({ config, env: process.env, logger, stop: stop.signal });
  process.exit(0);
} catch (thrown) {
  createLogger({ level: "fatal" }).fatal({ error: thrown }, messageOf(thrown));
  process.exit(thrown instanceof SimfleetError ? thrown.exitCode : 4);
}
