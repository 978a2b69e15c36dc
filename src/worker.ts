#!/usr/bin/env node
/** The always-on worker. The container starts this file, configured by the environment or the usual file. */
import { keepHeapSmall } from "#core/process/heap-room.ts";

async function main(): Promise<never> {
  // Without a listener, the first opens a port for debuggers, and the others end the process.
  for (const name of ["SIGUSR1", "SIGUSR2", "SIGHUP"] as const) process.on(name, () => undefined);
  keepHeapSmall();
  const stop = new AbortController();
  for (const name of ["SIGTERM", "SIGINT"] as const) process.on(name, () => stop.abort());
  const [{ loadConfig }, { sectionsOf }, { SimfleetError, messageOf }, { createLogger }, { features }] =
    await Promise.all([
      import("#config/load.ts"),
      import("#config/feature-section.ts"),
      import("#core/errors.ts"),
      import("#telemetry/logger.ts"),
      import("#features.ts"),
    ]);
  try {
    const { env } = process;
    const sections = await sectionsOf(features);
    const load = () => loadConfig({ env, sections });
    const config = load();
    const logger = createLogger({ level: config.logLevel });
    const { serve } = await import("#kernel/serve.ts");
    await serve({ config, load, env, features, logger, stop: stop.signal });
    process.exit(0);
  } catch (thrown) {
    createLogger({ level: "fatal" }).fatal({ error: thrown }, messageOf(thrown));
    process.exit(thrown instanceof SimfleetError ? thrown.exitCode : 4);
  }
}

await main();
