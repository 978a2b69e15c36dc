#!/usr/bin/env node
/**
 * The always-on worker. The container starts this file, configured by the environment or the usual file; `simfleet worker`
 * and `simfleet demo` serve the same with a configuration of their own.
 */
import { keepHeapSmall } from "#core/heap-room.ts";

async function main(): Promise<never> {
  keepHeapSmall();
  const stop = new AbortController();
  for (const name of ["SIGTERM", "SIGINT"] as const) process.on(name, () => stop.abort());
  const [{ serve }, { loadConfig }, { SimfleetError, messageOf }, { createLogger }, { features }] = await Promise.all([
    import("#app/serve.ts"),
    import("#config/load.ts"),
    import("#core/errors.ts"),
    import("#telemetry/logger.ts"),
    import("#features.ts"),
  ]);
  try {
    const { env } = process;
    const config = loadConfig({ env, features });
    await serve({ config, env, features, logger: createLogger({ level: config.logLevel }), stop: stop.signal });
    process.exit(0);
  } catch (thrown) {
    createLogger({ level: "fatal" }).fatal({ error: thrown }, messageOf(thrown));
    process.exit(thrown instanceof SimfleetError ? thrown.exitCode : 4);
  }
}

await main();
