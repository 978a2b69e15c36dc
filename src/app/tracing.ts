/** Starts tracing in a process whose configuration asks for it. */
import { hostname } from "node:os";
import type { Config } from "#config/config.ts";
import type { Lifecycle } from "#core/lifecycle.ts";

/** Loads OpenTelemetry. Closing the app sends the remaining spans last. */
export async function startTracing({ tracing }: Pick<Config, "tracing">, lifecycle: Lifecycle): Promise<void> {
  if (tracing === undefined) return;
  const telemetry = await import("#telemetry/tracing.ts");
  const stop = telemetry.startTracing({ ...tracing, instance: `${hostname()}-${process.pid}` });
  lifecycle.onStop("traces", stop);
}
