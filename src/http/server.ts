/**
 * The worker's HTTP server: it assembles health, the control API and the dashboard behind one guard
 * and one set of headers, and listens. It defines no routes of its own; the modules that it mounts do.
 */
import helmet from "@fastify/helmet";
import fastify, { type FastifyInstance } from "fastify";
import { randomUUID } from "node:crypto";
import { SimfleetError, messageOf } from "#core/errors.ts";
import { systemClock } from "#core/time.ts";
import { addAudit } from "./audit.ts";
import { ConnectionLimits, connectionCheckMs, headersMs } from "./connection-limits.ts";
import { controlApi } from "./control-api.ts";
import { addDashboard } from "./dashboard.ts";
import { addGuard } from "./auth/access.ts";
import { type Health, addHealth, addMetrics, addTracing } from "./monitoring/health.ts";
import { hostCheck } from "./auth/hosts.ts";
import type { ControlDeps } from "./deps.ts";
import { problemOf, sendProblem } from "./problem.ts";
import { securityHeaders } from "./security-headers.ts";

export interface HttpServer {
  /** `http://127.0.0.1:8080` */
  readonly url: string;
  readonly port: number;
  close(): Promise<void>;
}

/** The port where none was chosen: a second worker on the machine then takes another. */
const usualPort = 8080;
/** Of JSON; a file is read as it arrives. */
const maxBodyBytes = 256 * 1_024;
/** From the first byte of a request to its last, files included. */
const requestMs = 3_600_000;

export interface HttpOptions {
  readonly host: string;
  readonly port: number;
  /** Further names by which it is reached. */
  readonly hosts?: readonly string[];
  readonly version: string;
  readonly health: Health;
  /** Puts an error of the store into words for operators. */
  readonly explained?: (thrown: unknown) => unknown;
  /** Absent: health alone. */
  readonly control?: ControlDeps;
}

/**
 * Listens on the address; where the usual port is taken, on a free one.
 * @throws SimfleetError USAGE when the address cannot be listened on
 */
export async function startHttp(options: HttpOptions): Promise<HttpServer> {
  try {
    return await listen(options);
  } catch (thrown) {
    if (thrown instanceof SimfleetError || !(thrown instanceof Error && "code" in thrown)) throw thrown;
    if (thrown.code === "EADDRINUSE" && options.port === usualPort) return listen({ ...options, port: 0 });
    throw new SimfleetError(
      "USAGE",
      `Cannot listen on ${options.host}:${options.port}: ${messageOf(thrown)}. Choose another with SIMFLEET_HTTP_HOST and SIMFLEET_HTTP_PORT`,
      { cause: thrown },
    );
  }
}

async function listen(options: HttpOptions): Promise<HttpServer> {
  const server = await buildServer(options);
  try {
    await server.listen({ host: options.host, port: options.port });
  } catch (thrown) {
    await server.close();
    throw thrown;
  }
  const host = options.host.includes(":") ? `[${options.host}]` : options.host;
  const port = portOf(server) ?? options.port;
  return { url: `http://${host}:${port}`, port, close: () => server.close() };
}

async function buildServer(options: HttpOptions): Promise<FastifyInstance> {
  const { host, hosts = [], health, version, control, explained = (thrown) => thrown } = options;
  const server = fastify({
    logger: false,
    forceCloseConnections: true,
    bodyLimit: maxBodyBytes,
    requestTimeout: requestMs,
    http: { headersTimeout: headersMs, connectionsCheckingInterval: connectionCheckMs },
    genReqId: () => randomUUID(),
    exposeHeadRoutes: false,
  });
  const maxKnown = control?.config.http.connections ?? 0;
  const limits = new ConnectionLimits({ clock: control?.clock ?? systemClock, maxKnown });
  limits.watch(server.server);
  limits.boundBodies(server);
  const isOurHost = hostCheck({ host, port: () => portOf(server) ?? 0, hosts });
  server.addHook("onRequest", (request, reply, done) => {
    reply.header("x-request-id", request.id);
    done();
  });
  await server.register(helmet, securityHeaders);
  if (control !== undefined) addTracing(server);
  addGuard(server, { ...control, limits, isOurHost });
  if (control !== undefined) {
    addAudit(server, control);
    addMetrics(server, control);
  }
  server.setErrorHandler(async (error, request, reply) => {
    const thrown = explained(error);
    const problem = problemOf(thrown, request.id);
    const facts = { error: thrown, requestId: request.id, route: request.routeOptions.url };
    const isGone = reply.raw.destroyed && thrown instanceof DOMException;
    if (problem.status >= 500 && !isGone) control?.logger.warn(facts, "a request to the control API failed");
    return sendProblem(thrown, request, reply);
  });
  addHealth(server, health, { version, configuration: control?.config.tasksHash });
  if (control !== undefined) await server.register(controlApi, control);
  await addDashboard(server);
  await server.ready();
  return server;
}

function portOf(server: FastifyInstance): number | undefined {
  const address = server.server.address();
  return typeof address === "object" && address !== null ? address.port : undefined;
}
