/** The section `gateway`: where the proxy for other tools listens, who may use it, and how long its calls wait. */
import { isLoopback } from "#core/loopback.ts";
import type { z } from "zod";
import type { Report } from "../report.ts";
import { group, secret, secretOf, setting } from "../setting.ts";
import { bearerToken, host, number, plainName, port } from "../value-types.ts";

export const gatewaySection = group({
  port: setting(
    port.optional(),
    "Port of the gateway; 0 takes any free one. With it, a worker serves the gateway (docs/gateway.md).",
    { fallback: "a worker serves no gateway; `simfleet gateway` takes 8081" },
  ),
  host: setting(
    host.default("127.0.0.1"),
    "Address on which the gateway listens; one that other machines can reach needs `gateway.token`.",
  ),
  ...secret("token", bearerToken, {
    description: "Bearer token that every call through the gateway needs.",
    fallback: "none: every program on this machine can use it",
  }),
  maxWaitSeconds: setting(
    number(0, 3_600).default(30),
    "Longest wait of a call for its quota in seconds; then it returns 503 and `Retry-After`.",
  ),
  profile: setting(plainName.optional(), "Profile whose account a worker's gateway calls.", {
    fallback: "the selected one (`profile`)",
  }),
});

type Written = z.output<typeof gatewaySection>;

/**
 * Without a port, a worker serves no gateway; without a token, `host` is this machine only.
 * @param known `selected` is the profile where the section names none
 */
export function readGateway(
  written: Written,
  known: { profiles: readonly string[]; selected: string },
  report: Report,
) {
  const { token, maxWaitSeconds, profile = known.selected } = written;
  if (!isLoopback(written.host) && !report.isGiven("gateway.token")) {
    const message = `${written.host} can be reached from other machines: set gateway.tokenFile, or leave it at 127.0.0.1.`;
    report.fault("gateway.host", message);
  }
  report.checkProfile("gateway.profile", profile, known.profiles);
  return { port: written.port, host: written.host, token: secretOf(token), maxWaitMs: maxWaitSeconds * 1_000, profile };
}
