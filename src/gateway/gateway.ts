/**
 * The gateway: an HTTP proxy in front of the platform for other tools. It spends the same quota as the runs, so that
 * no caller of the account gets a 429, and adds the pair, so that tools need no credentials. Who may use it is decided
 * from a request's head alone: this machine, or whoever has the token, but no web page in a browser of this machine.
 */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { PlatformClient } from "#api/client.ts";
import { authOperation } from "#api/operations/auth.ts";
import { SimfleetError, messageOf } from "#core/errors.ts";
import { inTime, secondMs } from "#core/time.ts";
import { version } from "#core/version.ts";
import { hostCheck, openAccess, openAuthFailures } from "#http/auth/access.ts";
import { type ConnectionLimits, connectionLimits, connectionCheckMs, headersMs } from "#http/connection-limits.ts";
import { problemOf, retryAfterSeconds } from "#http/problem.ts";
import type { OutgoingProxy } from "#core/proxy.ts";
import type { Logger } from "#telemetry/logger.ts";
import { type Grouping, operationFinder, readTarget } from "./api-groups.ts";
import { type CallDeps, type CallTimes, makeCall, openConnections, readBody, usualTimes } from "./call.ts";
import { isCrossSite, pairHeaders } from "./headers.ts";
import { openPairs, type PairOptions, readAuthRequest } from "./pairs.ts";
import { gatewayCall, type Timing } from "#core/timings.ts";

/** Connections of callers that may use the gateway; each has one call in progress at most. */
const maxCallers = 1_024;
const maxHeaderBytes = 32 * 1_024;
const maxHeaders = 100;
/** How long calls that were sent may take when the gateway closes. */
const drainMs = 10 * secondMs;

export interface GatewayOptions extends PairOptions, Pick<CallDeps, "freezeOf" | "maxWaitMs"> {
  readonly client: CallDeps["client"] & Pick<PlatformClient, "whoAmI">;
  readonly host: string;
  readonly port: number;
  /** Requests with a wrong token per minute and address that get 401; further ones get 429. */
  readonly authFailuresPerMinute: number;
  /** Whether Redis answers. */
  readonly isReady: () => Promise<boolean>;
  /** The text for Prometheus; absent where the worker has them at its own `/metrics`. */
  readonly metrics?: (() => Promise<{ readonly contentType: string; readonly text: string }>) | undefined;
  readonly grouping: Grouping;
  readonly proxy?: OutgoingProxy | undefined;
  /** The word in the names of the platform's headers. */
  readonly brand: string;
  readonly logger: Logger;
  readonly times?: Partial<CallTimes>;
}

export type Gateway = Awaited<ReturnType<typeof startGateway>>;

/** @throws SimfleetError USAGE if it cannot listen */
export async function startGateway(options: GatewayOptions) {
  const { host, port, clock, logger } = options;
  const closing = new AbortController();
  const connections = openConnections(options.proxy);
  const limits = connectionLimits({ clock, maxKnown: maxCallers });
  // Bodies have limits of their own, since large ones take long.
  const times = { headersTimeout: headersMs, connectionsCheckingInterval: connectionCheckMs, requestTimeout: 0 };
  const server = createServer({ maxHeaderSize: maxHeaderBytes, ...times });
  const actualPort = (): number => (server.address() as AddressInfo | null)?.port ?? 0;
  const deps = { ...options, times: { ...usualTimes, ...options.times }, connections, closing: closing.signal };
  const answer = answering(deps, admission(options, limits, actualPort));
  server.maxHeadersCount = maxHeaders;
  limits.watch(server);
  server.on("request", (request, response) => {
    response.on("error", () => undefined);
    // A response that cannot be written must not end the process.
    answer(request, response).catch((thrown: unknown) => {
      logger.error({ error: thrown }, "a connection to the gateway failed");
      request.socket.destroy();
    });
  });
  server.on("connect", (_request, socket) => {
    socket.on("error", () => undefined).end("HTTP/1.1 405 Method Not Allowed\r\n\r\n");
  });
  try {
    await once(server.listen(port, host), "listening");
  } catch (cause) {
    const message = `The gateway cannot listen on ${host}:${port}: ${messageOf(cause)}. Choose another gateway.port.`;
    throw new SimfleetError("USAGE", message, { cause });
  }
  server.on("error", (error) => logger.error({ error }, "the gateway could not accept a connection"));
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${actualPort()}`,

    /** Rejects new calls and those that wait; calls that were sent get their answers, for a limited time. */
    async close(): Promise<void> {
      const closed = once(server.close(), "close");
      const message = "The gateway is stopping: try again";
      closing.abort(new SimfleetError("OVERLOADED", message, { retryAfterMs: secondMs }));
      await inTime(clock, drainMs, closed);
      server.closeAllConnections();
      await connections.destroy();
    },
  };
}

/** @returns what responds to a request */
function answering(deps: GatewayOptions & CallDeps, door: ReturnType<typeof admission>) {
  const { client, clock, brand, logger, metrics, isReady, closing } = deps;
  const findOperation = operationFinder(deps.grouping);
  const nameOf = callerNames();
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const beganMs = clock.monotonicMs();
    const { headers, method = "GET", url = "" } = request;
    const [path = ""] = url.split("?", 1);
    request.on("error", () => undefined); // an upload that breaks ends the call
    // `/healthz`: the process runs; `/readyz`: Redis answers as well.
    if (method === "GET" && (url === "/healthz" || url === "/readyz")) {
      const isFine = url === "/healthz" || (await isReady().catch(() => false));
      return sendJson(response, isFine ? 200 : 503, { status: isFine ? "ok" : "unavailable", version });
    }
    let caller = "unknown";
    try {
      door.assertOurs(request);
      const segments = readTarget(url);
      if (method === "POST" && segments.join("/") === authOperation.path.slice(1)) {
        const given = readAuthRequest(await readBody(request, deps));
        await door.admit(request, given);
        return sendJson(response, 200, await door.pairs.issue(await client.whoAmI(closing), given));
      }
      await door.admit(request);
      if (method === "GET" && url === "/metrics" && metrics !== undefined) return send(response, 200, await metrics());
      caller = nameOf(headers);
      const operation = findOperation(method, segments);
      const { newGuess } = operation;
      if (newGuess !== undefined) {
        const message = `no rule says which API group calls below ${newGuess} belong to: they are counted on their own (apiGroups of the platform definition)`;
        logger.info({ path: newGuess }, message);
      }
      if (operation.isRenewal) {
        const given = readAuthRequest(await readBody(request, deps));
        const { apiKey } = pairHeaders(headers, brand);
        const { token } = await door.pairs.issue(await client.whoAmI(closing), given, apiKey);
        return sendJson(response, 200, { token });
      }
      const urgency = headers["x-simfleet-priority"] === "low" ? "normal" : "priority";
      await makeCall({ request, response, operation, urgency, caller }, deps);
    } catch (thrown) {
      refuse(thrown, request, response, logger);
    }
    const status = response.headersSent ? response.statusCode : "gone"; // it disconnected before the response
    const ms = clock.monotonicMs() - beganMs;
    gatewayCall.publish({ seconds: ms / secondMs, labels: { caller, status: String(status) } } satisfies Timing);
    // The path without the query, which may hold data of customers.
    const facts = { caller, method, path, status, ms: Math.round(ms) };
    logger.debug(facts, "a call through the gateway ended");
  };
}

/** Decides who may use the gateway, before anything is read of a request but its head. */
function admission(options: GatewayOptions, limits: ConnectionLimits, port: () => number) {
  const { host, token, brand, clock, authFailuresPerMinute } = options;
  const isOurHost = hostCheck({ host, port, hosts: [] });
  const access = openAccess({ tokens: [], adminToken: token?.reveal(), jwt: undefined, clock });
  const failures = openAuthFailures({ clock, maxPerMinute: authFailuresPerMinute });
  const pairs = openPairs(options);
  return {
    pairs,

    /** @throws SimfleetError FORBIDDEN for another host name, and for requests of web pages */
    assertOurs({ headers }: IncomingMessage): void {
      if (!isOurHost(headers.host)) {
        throw new SimfleetError("FORBIDDEN", "This host name is not that of the gateway: use its address");
      }
      if (isCrossSite(headers)) throw new SimfleetError("FORBIDDEN", "Requests of web pages are not allowed");
    },

    /**
     * Lets a caller in who has the gateway's token, if it has one: as the bearer header, in a pair, or as the secret
     * with which it authenticates.
     * @throws SimfleetError UNAUTHENTICATED, TOO_MANY_REQUESTS after too many wrong ones, OVERLOADED
     */
    async admit({ headers, socket }: IncomingMessage, given?: ReturnType<typeof readAuthRequest>): Promise<void> {
      const secret = given?.authKey ?? given?.password;
      const { authorization = secret === undefined ? undefined : `Bearer ${secret}` } = headers;
      const { apiKey, token: pairToken } = pairHeaders(headers, brand);
      const isPair = given === undefined && apiKey !== undefined && pairToken !== undefined;
      try {
        if (token !== undefined && authorization === undefined && isPair) await pairs.verify(apiKey, pairToken);
        else if (token !== undefined) await access.principalOf(authorization);
      } catch (thrown) {
        const wrong = authorization ?? (isPair ? pairToken : undefined);
        throw failures.refusal(thrown, { ip: socket.remoteAddress ?? "", authorization: wrong });
      }
      limits.markKnown(socket);
    },
  };
}

function refuse(thrown: unknown, request: IncomingMessage, response: ServerResponse, logger: Logger): void {
  if (response.headersSent || response.destroyed) return; // no one is there to read it
  const problem = problemOf(thrown, randomUUID());
  const { code, status, instance, detail: message } = problem;
  const isWaitOnly = thrown instanceof SimfleetError && thrown.disposition === "later";
  if (status >= 500 && !isWaitOnly) logger.warn({ error: thrown, instance }, "a call through the gateway failed");
  if (status === 401) response.setHeader("www-authenticate", "Bearer");
  const seconds = retryAfterSeconds(thrown, code);
  if (seconds !== undefined) response.setHeader("retry-after", seconds);
  // What follows of the body is not read, and a connection that is one too many is not kept.
  if (!request.complete || code === "OVERLOADED") response.setHeader("connection", "close");
  // A problem document that has the form of the platform's errors as well: code and message (interface, section 7).
  send(response, status, { contentType: "application/problem+json", text: JSON.stringify({ ...problem, message }) });
}

function sendJson(response: ServerResponse, status: number, document: unknown): void {
  send(response, status, { contentType: "application/json; charset=utf-8", text: JSON.stringify(document) });
}

function send(response: ServerResponse, status: number, { contentType, text }: { contentType: string; text: string }) {
  response.writeHead(status, { "content-type": contentType, "cache-control": "no-store" }).end(text);
}

// The names of the callers, for the metrics. Their number is limited, since callers choose them.

const maxNames = 50;
const maxCharacters = 40;

/**
 * @returns the name in `X-Simfleet-Caller`, else the product in the user agent; `other` for the 51st name and all later
 *   ones
 */
export function callerNames(): (headers: IncomingHttpHeaders) => string {
  const names = new Set<string>();
  return (headers) => {
    const given = [headers["x-simfleet-caller"]].flat()[0] ?? "";
    const product = /^[^\s/(]*/.exec(headers["user-agent"] ?? "")?.[0] ?? "";
    const name = clean(given) || clean(product) || "unknown";
    if (!names.has(name) && names.size >= maxNames) return "other";
    names.add(name);
    return name;
  };
}

function clean(text: string): string {
  return text
    .trim()
    .slice(0, maxCharacters)
    .replace(/[^A-Za-z0-9._-]+/g, "-")
    .replace(/^-+|-+$/g, "");
}
