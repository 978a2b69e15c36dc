/** The gateway: in a worker, or in a process of its own (`simfleet gateway`). */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { every, secondMs } from "#core/time.ts";
import { type GatewayOptions, startGateway } from "#gateway/gateway.ts";
import { App } from "./app.ts";
import type { ServeOptions } from "./serve.ts";

const stopMs = 20 * secondMs;

/**
 * Runs until the signal aborts; calls that were sent get their answers.
 * @throws ConfigError, SimfleetError STORE_UNAVAILABLE if it cannot start
 */
export async function serveGateway(options: Omit<ServeOptions, "load"> & { readonly profile: string }): Promise<void> {
  const { config, profile, logger, stop } = options;
  for (const warning of config.warnings) logger.warn({ where: warning.where }, warning.message);
  const app = await App.open(config, options);
  const { accounts, lifecycle, limiter } = app.kernel;
  try {
    await accounts.announce(profile);
    const { openMetrics, quotaReadings } = await import("#telemetry/metrics.ts");
    const metrics = openMetrics();
    lifecycle.onStop("metrics", () => metrics.close());
    const url = await openGateway(app, {
      profile,
      metrics: async () => ({
        contentType: metrics.contentType,
        text: await metrics.text(quotaReadings(await limiter.buckets())),
      }),
    });
    options.onReady?.(url);
    if (!stop.aborted) await once(stop, "abort");
    logger.info("the gateway is stopping");
  } catch (thrown) {
    throw App.explained(thrown);
  } finally {
    for (const problem of await app.close(stopMs)) logger.warn(problem);
  }
}

/** The port of `simfleet gateway` where none is configured. */
const defaultPort = 8_081;

/** How often other processes are told that live calls may come. */
const announceEveryMs = 10 * secondMs;

/** The key of the pairs that gateways issue, made by the first of them. */
async function obtainSharedKey({ redis, keys }: Pick<App["kernel"], "redis" | "keys">): Promise<string> {
  const key = keys.of("gateway-key");
  await redis.set(key, randomBytes(32).toString("base64"), "NX");
  return (await redis.get(key)) ?? "";
}

/**
 * Opens the gateway; closing the app closes it before the client that it uses.
 * @returns its address
 * @throws ConfigError if the profile lacks credentials or an address; SimfleetError USAGE if it cannot listen
 */
export async function openGateway(
  app: App,
  options: {
    profile: string;
    /** Served at `/metrics`; a worker has its own. */
    metrics?: GatewayOptions["metrics"];
  },
): Promise<string> {
  const { profile, metrics } = options;
  const { config, logger, client, clock, lifecycle, limiter, freezes, ping } = app.kernel;
  const { gateway: settings, deployment, http } = config;
  const gateway = await startGateway({
    ...settings,
    port: settings.port ?? defaultPort,
    client: client(profile),
    freezeOf: () => freezes.of(profile),
    grouping: deployment,
    proxy: config.proxy,
    brand: deployment.brand,
    ttlField: deployment.ttlField,
    sharedKey: () => obtainSharedKey(app.kernel),
    authFailuresPerMinute: http.authFailuresPerMinute,
    isReady: ping,
    metrics,
    clock,
    logger: logger.child({ profile }),
  });
  lifecycle.onStop("gateway", () => gateway.close());
  const announce = (): void => void limiter.announceLive(profile).catch(() => undefined);
  announce();
  lifecycle.onStop("word of the gateway", every(announceEveryMs, announce));
  logger.info({ gateway: gateway.url, profile }, "the gateway is ready");
  return gateway.url;
}
