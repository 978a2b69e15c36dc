/**
 * The part of the composition root that serves HTTP: authorization and the server. A worker
 * without configured credentials for its control API creates its own admin token in the data directory, provided that
 * only this machine can reach it.
 */
import { randomBytes } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { readSecretFile } from "#config/secrets/secret-file.ts";
import { ConfigError } from "#core/errors.ts";
import { Secret } from "#core/secrets/secret.ts";
import { systemClock } from "#core/time.ts";
import { queueDepths } from "#engine/queue/work-queues.ts";
import { audit } from "#jobs/audit/feature.ts";
import { runs } from "#jobs/runs/feature.ts";
import { schedules } from "#jobs/schedules/feature.ts";
import { tokens } from "#jobs/tokens/feature.ts";
import { createFile } from "#core/files/write-file.ts";
import { type Access, openAccess, openAuthFailures } from "#http/auth/access.ts";
import { type EventStreams, eventStreams } from "#http/event-streams.ts";
import type { Health } from "#http/monitoring/health.ts";
import { jwtReader } from "#http/auth/jwt.ts";
import { isLoopback } from "#core/loopback.ts";
import type { Reading } from "#telemetry/metrics.ts";
import { type HttpServer, startHttp } from "#http/server.ts";
import { App } from "./app.ts";
import { version } from "#core/version.ts";

type Served = Pick<App, "kernel" | "routes" | "service" | "readings">;

/**
 * Starts the HTTP server; closing the app closes it.
 * @throws ConfigError for an address that is reachable by others without credentials; SimfleetError USAGE if it is in
 *   use
 */
export async function openHttp({ app, health }: { app: Served; health: Health }): Promise<HttpServer> {
  const { kernel } = app;
  const { config, logger, tail } = kernel;
  const clock = systemClock;
  const access = await accessTo(app);
  const streams = eventStreams({ tail, clock, logger, access });
  const authFailures = openAuthFailures({ clock, maxPerMinute: config.http.authFailuresPerMinute });
  const endpoints = await app.routes({ process: "worker" });
  const control = {
    ...kernel,
    endpoints,
    access,
    version,
    readings: readingsOf(app, streams, health),
    streams,
    authFailures,
    audit: app.service(audit),
    schedules: app.service(schedules),
    plans: app.service(runs).service.plans,
  };
  const server = await startHttp({ health, control, explained: (thrown) => App.explained(thrown) });
  kernel.lifecycle.onStop("HTTP", () => server.close());
  const { port } = config.http;
  if (port !== 0 && server.port !== port) {
    logger.warn({ http: server.url }, `port ${port} is taken, so health is served on another`);
  }
  return server;
}

/** The values of the features, of the queues and of the streams. */
function readingsOf(app: Served, streams: EventStreams, health: Health): () => Promise<Reading[]> {
  const depths = queueDepths(app.kernel);
  return async () => {
    const [ofFeatures, jobs] = await Promise.all([app.readings(), depths()]);
    const configRejected = Number(health.isConfigRejected?.() === true);
    return [
      ...ofFeatures,
      ...jobs,
      { metric: "streams", value: streams.count(), labels: {} },
      { metric: "configRejected", value: configRejected, labels: {} },
    ];
  };
}

async function accessTo(app: Served): Promise<Access> {
  const { logger, config } = app.kernel;
  const { http, dataDir, proxy } = config;
  const clock = systemClock;
  const jwt = http.jwt === undefined ? undefined : jwtReader(http.jwt, clock, proxy);
  let { adminToken } = http;
  if (adminToken === undefined && http.tokens.length === 0 && jwt === undefined) {
    if (!isLoopback(http.host)) throw new ConfigError([openToAll(http.host)]);
    const place = await ownToken(dataDir);
    adminToken = place.token;
    logger.info(
      { adminTokenFile: place.path },
      "no credentials are configured for the control API: it takes the token of this file",
    );
  }
  return openAccess({ tokens: http.tokens, stored: app.service(tokens), adminToken: adminToken?.reveal(), jwt, clock });
}

function openToAll(host: string): { where: string; message: string } {
  const message =
    `${host} can be reached from other machines, and nothing says who may use the control API. ` +
    "Set SIMFLEET_HTTP_ADMIN_TOKEN_FILE, http.tokens or http.jwt, or leave http.host at 127.0.0.1.";
  return { where: "http.host", message };
}

/** Minimum length of an admin token from any source (http.adminToken). */
const minCharacters = 32;

/** The admin token of the data directory, created on first use. @throws ConfigError if its file cannot be used */
async function ownToken(dataDir: string): Promise<{ path: string; token: Secret }> {
  const path = join(dataDir, "admin-token");
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const fresh = `sf_${randomBytes(32).toString("base64url")}`;
  // If several workers start at once, one creates it and all read it.
  await createFile(path, `${fresh}\n`, { mode: 0o600 }).catch((thrown: unknown) => {
    if (!(thrown instanceof Error && "code" in thrown && thrown.code === "EEXIST")) throw thrown;
  });
  const read = readSecretFile(path);
  if ("fault" in read) throw new ConfigError([{ where: path, message: read.fault }]);
  if (read.secret.length < minCharacters) {
    const message = `contains a token of fewer than ${minCharacters} characters: remove the file, and the worker makes a new one.`;
    throw new ConfigError([{ where: path, message }]);
  }
  return { path, token: new Secret(read.secret) };
}
