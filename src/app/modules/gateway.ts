/** The part of the composition root that opens the gateway for one profile. */
import { systemClock } from "#core/time.ts";
import { Gateway, type GatewayOptions } from "#gateway/gateway.ts";
import type { Logger } from "#telemetry/logger.ts";
import type { App } from "../app.ts";

/** The port of `simfleet gateway` where none is configured. */
const usualPort = 8_081;

/**
 * Opens the gateway; closing the app closes it before the client that it uses.
 * @returns its address
 * @throws ConfigError if the profile lacks credentials or an address; SimfleetError USAGE if it cannot listen
 */
export async function openGateway(
  app: App,
  options: {
    profile: string;
    logger: Logger;
    /** Served at `/metrics`; a worker has its own. */
    metrics?: GatewayOptions["monitoring"]["metrics"];
  },
): Promise<string> {
  const { profile, logger, metrics } = options;
  const { gateway: settings, deployment, http } = app.config;
  const gateway = await Gateway.open({
    ...settings,
    port: settings.port ?? usualPort,
    client: app.client(profile),
    freezeOf: () => app.freezes.of(profile),
    grouping: deployment,
    authFailuresPerMinute: http.authFailuresPerMinute,
    monitoring: { isReady: () => app.ping(), metrics },
    clock: systemClock,
    logger: logger.child({ profile }),
  });
  app.onClose("gateway", () => gateway.close());
  logger.info({ gateway: gateway.url, profile }, "the gateway is ready");
  return gateway.url;
}
