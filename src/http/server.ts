/**
 * The worker's HTTP server: it assembles health, the control API and the dashboard behind one guard
 * and one set of headers, and listens. It defines no routes of its own; the modules that it mounts do.
 */
import helmet, { type FastifyHelmetOptions } from "@fastify/helmet";
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { randomUUID } from "node:crypto";
import { SimfleetError, messageOf } from "#core/errors.ts";
import { addAudit } from "./audit.ts";
import { connectionLimits, connectionCheckMs, headersMs } from "./connection-limits.ts";
import { controlApi } from "./control-api.ts";
import { addGuard, hostCheck } from "./auth/access.ts";
import { type Health, addHealth, addMetrics, addTracing } from "./monitoring/health.ts";
import type { ControlDeps } from "./deps.ts";
import { problemOf, sendProblem } from "./problem.ts";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import fastifyStatic from "@fastify/static";

export type HttpServer = Awaited<ReturnType<typeof listen>>;

/** The port where none was chosen: a second worker on the machine then takes another. */
const usualPort = 8080;
/** Maximum bytes of a JSON body. A file is read as it arrives. */
const maxBodyBytes = 256 * 1_024;
/** From the first byte of a request to its last, files included. */
const requestMs = 3_600_000;

export interface HttpOptions {
  readonly health: Health;
  /** Puts an error of the store into words for operators. */
  readonly explained: (thrown: unknown) => unknown;
  readonly control: ControlDeps;
}

/**
 * Listens on the configured address; where the usual port is taken, on a free one.
 * @throws SimfleetError USAGE when the address cannot be listened on
 */
export async function startHttp(options: HttpOptions): Promise<HttpServer> {
  const { host, port } = options.control.config.http;
  try {
    return await listen(options, port);
  } catch (thrown) {
    if (thrown instanceof SimfleetError || !(thrown instanceof Error && "code" in thrown)) throw thrown;
    if (thrown.code === "EADDRINUSE" && port === usualPort) return listen(options, 0);
    throw new SimfleetError(
      "USAGE",
      `Cannot listen on ${host}:${port}: ${messageOf(thrown)}. Choose another with SIMFLEET_HTTP_HOST and SIMFLEET_HTTP_PORT`,
      { cause: thrown },
    );
  }
}

/** `url` is such as `http://127.0.0.1:8080`. */
async function listen(options: HttpOptions, wantedPort: number) {
  const server = await buildServer(options);
  const { host: named } = options.control.config.http;
  try {
    await server.listen({ host: named, port: wantedPort });
  } catch (thrown) {
    await server.close();
    throw thrown;
  }
  const host = named.includes(":") ? `[${named}]` : named;
  const port = portOf(server) ?? wantedPort;
  return { url: `http://${host}:${port}`, port, close: (): Promise<void> => server.close() };
}

async function buildServer({ health, control, explained }: HttpOptions): Promise<FastifyInstance> {
  const { config, clock, version } = control;
  const { host, hosts, connections: maxKnown } = config.http;
  const server = fastify({
    logger: false,
    forceCloseConnections: true,
    bodyLimit: maxBodyBytes,
    requestTimeout: requestMs,
    http: { headersTimeout: headersMs, connectionsCheckingInterval: connectionCheckMs },
    genReqId: () => randomUUID(),
    exposeHeadRoutes: false,
  });
  const limits = connectionLimits({ clock, maxKnown });
  limits.watch(server.server);
  limits.boundBodies(server);
  const isOurHost = hostCheck({ host, port: () => portOf(server) ?? 0, hosts });
  server.addHook("onRequest", (request, reply, done) => {
    reply.header("x-request-id", request.id);
    done();
  });
  await server.register(helmet, securityHeaders);
  addTracing(server);
  addGuard(server, { ...control, limits, isOurHost });
  addAudit(server, control);
  addMetrics(server, control);
  server.setErrorHandler(async (error, request, reply) => {
    const thrown = explained(error);
    const problem = problemOf(thrown, request.id);
    const facts = { error: thrown, requestId: request.id, route: request.routeOptions.url };
    const isGone = reply.raw.destroyed && thrown instanceof DOMException;
    if (problem.status >= 500 && !isGone) control.logger.warn(facts, "a request to the control API failed");
    return sendProblem(thrown, request, reply);
  });
  addHealth(server, health, { version, configuration: config.tasksHash });
  await server.register(controlApi, control);
  await addDashboard(server);
  await server.ready();
  return server;
}

function portOf(server: FastifyInstance): number | undefined {
  const address = server.server.address();
  return typeof address === "object" && address !== null ? address.port : undefined;
}

/**
 * No framing, no resources from other hosts, scripts only from our own files. `upgrade-insecure-requests` and HSTS are
 * left to the TLS proxy in front: over plain HTTP, the first would break the page and the second has no effect.
 */
const securityHeaders: FastifyHelmetOptions = {
  contentSecurityPolicy: {
    useDefaults: false,
    directives: {
      "default-src": ["'none'"],
      "script-src": ["'self'"],
      "style-src": ["'self'"],
      "img-src": ["'self'", "data:"],
      "connect-src": ["'self'"],
      "font-src": ["'self'"],
      "base-uri": ["'none'"],
      "form-action": ["'self'"],
      "frame-ancestors": ["'none'"],
    },
  },
  strictTransportSecurity: false,
  xFrameOptions: { action: "deny" },
  referrerPolicy: { policy: "no-referrer" },
  crossOriginResourcePolicy: { policy: "same-origin" },
};

// The dashboard: the files of dist/web, and its one HTML page for every path that is a view.

/** Next to the compiled src/, or next to src/ when it runs uncompiled. */
const places = ["../web", "../../dist/web"].map((place) => fileURLToPath(new URL(place, import.meta.url)));

const notBuilt =
  "The dashboard is not built: run npm run build. The control API is under /v1, its reference under /docs.\n";

async function addDashboard(server: FastifyInstance): Promise<void> {
  const folder = places.find((place) => existsSync(`${place}/index.html`));
  if (folder !== undefined) {
    await server.register(async (child) => {
      child.addHook("onRoute", (route) => {
        route.config = { ...route.config, role: "open" };
      });
      // Asset names contain a digest of their content, so they can be cached forever.
      await child.register(fastifyStatic, {
        root: `${folder}/assets`,
        prefix: "/assets/",
        immutable: true,
        maxAge: "365d",
        index: false,
        preCompressed: true,
      });
    });
    await server.register(fastifyStatic, { root: folder, serve: false });
  }
  const page = async (_request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> =>
    folder === undefined
      ? reply.type("text/plain; charset=utf-8").send(notBuilt)
      : reply.header("cache-control", "no-cache").sendFile("index.html");
  server.get("/", { config: { role: "open" } }, page);
  server.setNotFoundHandler(async (request, reply) => {
    if (isView(request)) return page(request, reply);
    const what = `${request.method} ${request.url.split("?", 1)[0]}`;
    return sendProblem(new SimfleetError("NOT_FOUND", `There is no route ${what}: see /docs`), request, reply);
  });
}

/** A view's path has no dot and belongs to nothing else; a reload of it asks for HTML. */
function isView({ method, url, headers }: FastifyRequest): boolean {
  if (method !== "GET" || !(headers.accept ?? "").includes("text/html")) return false;
  return !/^\/(?:v1|docs|metrics|assets)(?:[/?]|$)/.test(url) && !url.split("?", 1)[0]?.includes(".");
}
