/**
 * The gateway: an HTTP proxy in front of the platform for other tools. It spends the same quota as the runs, so that nobody on
 * the account gets a 429, and adds the pair, so that the tools need no credentials. Who may use it is decided before anything
 * is read of a request but its head: this machine, or whoever has the token, but no web page in a browser of this machine.
 */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  type IncomingHttpHeaders,
} from "node:http";
import type { AddressInfo } from "node:net";
import type { PlatformClient } from "#api/client.ts";
import { authOperation } from "#api/operations/auth.ts";
import { SimfleetError, messageOf } from "#core/errors.ts";
import { inTime, secondMs } from "#core/time.ts";
import { version } from "#core/version.ts";
import { Access, hostCheck, AuthFailures } from "#http/auth/access.ts";
import { ConnectionLimits, connectionCheckMs, headersMs } from "#http/connection-limits.ts";
import { problemOf, retryAfterSeconds } from "#http/problem.ts";
import type { OutgoingProxy } from "#core/proxy.ts";
import type { Logger } from "#telemetry/logger.ts";
import { ApiGroups, type Grouping, readTarget } from "./api-groups.ts";
import { type CallDeps, type CallTimes, makeCall, openConnections, readBody } from "./call.ts";
import { isCrossSite, pairHeaders } from "./headers.ts";
import { type PairOptions, Pairs, readAuthRequest } from "./pairs.ts";
import { gatewayCall } from "#core/timings.ts";

/** Connections of callers that may use the gateway; each has one call in progress at most. */
const maxCallers = 1_024;
const maxHeaderBytes = 32 * 1_024;
const maxHeaders = 100;
/** How long calls that were sent may take when the gateway closes. */
const drainMs = 10 * secondMs;
const usualTimes: CallTimes = { aheadIdleMs: 30 * secondMs, restIdleMs: 5 * secondMs, readerIdleMs: 30 * secondMs };

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

export class Gateway {
  readonly #options: GatewayOptions;
  readonly #groups: ApiGroups;
  readonly #callers = new Callers();
  readonly #connections: CallDeps["connections"];
  readonly #closing = new AbortController();
  readonly #server: Server;
  readonly #isOurHost: (header: string | undefined) => boolean;
  readonly #access: Access;
  readonly #failures: AuthFailures;
  readonly #limits: ConnectionLimits;
  readonly #pairs: Pairs;

  private constructor(options: GatewayOptions) {
    const { host, token, clock, logger, authFailuresPerMinute } = options;
    this.#options = options;
    this.#connections = openConnections(options.proxy);
    this.#groups = new ApiGroups(options.grouping);
    this.#isOurHost = hostCheck({ host, port: () => this.#port, hosts: [] });
    this.#access = new Access({ tokens: [], adminToken: token?.reveal(), jwt: undefined, clock });
    this.#failures = new AuthFailures({ clock, maxPerMinute: authFailuresPerMinute });
    this.#limits = new ConnectionLimits({ clock, maxKnown: maxCallers });
    this.#pairs = new Pairs(options);
    // Bodies have limits of their own, since large ones take long.
    const times = { headersTimeout: headersMs, connectionsCheckingInterval: connectionCheckMs, requestTimeout: 0 };
    this.#server = createServer({ maxHeaderSize: maxHeaderBytes, ...times }, (request, response) => {
      response.on("error", () => undefined);
      // A response that cannot be written must not end the process.
      this.#answer(request, response).catch((thrown: unknown) => {
        logger.error({ error: thrown }, "a connection to the gateway failed");
        request.socket.destroy();
      });
    });
    this.#server.maxHeadersCount = maxHeaders;
    this.#limits.watch(this.#server);
    this.#server.on("connect", (_request, socket) => {
      socket.on("error", () => undefined).end("HTTP/1.1 405 Method Not Allowed\r\n\r\n");
    });
  }

  /** @throws SimfleetError USAGE if it cannot listen */
  static async open(options: GatewayOptions): Promise<Gateway> {
    const gateway = new Gateway(options);
    const { host, port } = options;
    try {
      await once(gateway.#server.listen(port, host), "listening");
    } catch (cause) {
      const message = `The gateway cannot listen on ${host}:${port}: ${messageOf(cause)}. Choose another gateway.port.`;
      throw new SimfleetError("USAGE", message, { cause });
    }
    gateway.#server.on("error", (error) =>
      options.logger.error({ error }, "the gateway could not accept a connection"),
    );
    return gateway;
  }

  /** `http://127.0.0.1:8081` */
  get url(): string {
    const { host } = this.#options;
    return `http://${host.includes(":") ? `[${host}]` : host}:${this.#port}`;
  }

  /** Rejects new calls and those that wait; calls that were sent get their answers, for a limited time. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#closing.abort(
      new SimfleetError("OVERLOADED", "The gateway is stopping: try again", { retryAfterMs: secondMs }),
    );
    await inTime(this.#options.clock, drainMs, closed);
    this.#server.closeAllConnections();
    await this.#connections.destroy();
  }

  get #port(): number {
    return (this.#server.address() as AddressInfo | null)?.port ?? 0;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { client, clock, brand, logger, metrics } = this.#options;
    const beganMs = clock.monotonicMs();
    const { headers, method = "GET", url = "" } = request;
    const [path = ""] = url.split("?", 1);
    request.on("error", () => undefined); // an upload that breaks ends the call
    if (method === "GET" && (url === "/healthz" || url === "/readyz")) return this.#answerHealth(url, response);
    let caller = "unknown";
    const times = { ...usualTimes, ...this.#options.times };
    const deps = { ...this.#options, times, connections: this.#connections, closing: this.#closing.signal };
    try {
      this.#assertOurs(request);
      const segments = readTarget(url);
      if (method === "POST" && segments.join("/") === authOperation.path.slice(1)) {
        const given = readAuthRequest(await readBody(request, deps));
        await this.#admit(request, given);
        return sendJson(response, 200, await this.#pairs.issue(await client.whoAmI(deps.closing), given));
      }
      await this.#admit(request);
      if (method === "GET" && url === "/metrics" && metrics !== undefined) return send(response, 200, await metrics());
      caller = this.#callers.nameOf(headers);
      const operation = this.#groups.find(method, segments);
      const { newGuess } = operation;
      if (newGuess !== undefined) {
        const message = `no rule says which API group calls below ${newGuess} belong to: they are counted on their own (apiGroups of the platform definition)`;
        logger.info({ path: newGuess }, message);
      }
      if (operation.isRenewal) {
        const given = readAuthRequest(await readBody(request, deps));
        const { apiKey } = pairHeaders(headers, brand);
        const { token } = await this.#pairs.issue(await client.whoAmI(deps.closing), given, apiKey);
        return sendJson(response, 200, { token });
      }
      const urgency = headers["x-simfleet-priority"] === "low" ? "normal" : "priority";
      await makeCall({ request, response, operation, urgency, caller }, deps);
    } catch (thrown) {
      this.#refuse(thrown, request, response);
    }
    const status = response.headersSent ? response.statusCode : "gone"; // it disconnected before the response
    gatewayCall.publish({ caller, status: String(status) });
    // The path without the query, which may hold data of customers.
    const facts = { caller, method, path, status, ms: Math.round(clock.monotonicMs() - beganMs) };
    logger.debug(facts, "a call through the gateway ended");
  }

  /** `/healthz`: the process runs; `/readyz`: Redis answers as well. */
  async #answerHealth(url: string, response: ServerResponse): Promise<void> {
    const isFine = url === "/healthz" || (await this.#options.isReady().catch(() => false));
    sendJson(response, isFine ? 200 : 503, { status: isFine ? "ok" : "unavailable", version });
  }

  /** @throws SimfleetError FORBIDDEN for another host name, and for requests of web pages */
  #assertOurs({ headers }: IncomingMessage): void {
    if (!this.#isOurHost(headers.host)) {
      throw new SimfleetError("FORBIDDEN", "This host name is not that of the gateway: use its address");
    }
    if (isCrossSite(headers)) throw new SimfleetError("FORBIDDEN", "Requests of web pages are not allowed");
  }

  /**
   * Lets a caller in who has the gateway's token, if it has one: as the bearer header, in a pair, or as the secret with which
   * it authenticates.
   * @throws SimfleetError UNAUTHENTICATED, TOO_MANY_REQUESTS after too many wrong ones, OVERLOADED
   */
  async #admit({ headers, socket }: IncomingMessage, given?: ReturnType<typeof readAuthRequest>): Promise<void> {
    const { token, brand } = this.#options;
    const secret = given?.authKey ?? given?.password;
    const { authorization = secret === undefined ? undefined : `Bearer ${secret}` } = headers;
    const pair: Partial<ReturnType<typeof pairHeaders>> = given === undefined ? pairHeaders(headers, brand) : {};
    try {
      if (token !== undefined && authorization === undefined && pair.apiKey !== undefined && pair.token !== undefined) {
        await this.#pairs.verify(pair.apiKey, pair.token);
      } else if (token !== undefined) {
        await this.#access.principalOf(authorization);
      }
    } catch (thrown) {
      const wrong = authorization ?? (pair.apiKey === undefined ? undefined : pair.token);
      throw this.#failures.refusal(thrown, { ip: socket.remoteAddress ?? "", authorization: wrong });
    }
    this.#limits.markKnown(socket);
  }

  #refuse(thrown: unknown, request: IncomingMessage, response: ServerResponse): void {
    if (response.headersSent || response.destroyed) return; // no one is there to read it
    const problem = problemOf(thrown, randomUUID());
    const { code, status, instance, detail: message } = problem;
    const isWaitOnly = thrown instanceof SimfleetError && thrown.disposition === "later";
    if (status >= 500 && !isWaitOnly)
      this.#options.logger.warn({ error: thrown, instance }, "a call through the gateway failed");
    if (status === 401) response.setHeader("www-authenticate", "Bearer");
    const seconds = retryAfterSeconds(thrown, code);
    if (seconds !== undefined) response.setHeader("retry-after", seconds);
    // What follows of the body is not read, and a connection that is one too many is not kept.
    if (!request.complete || code === "OVERLOADED") response.setHeader("connection", "close");
    // A problem document that has the form of the platform's errors as well: code and message (interface, section 7).
    send(response, status, { contentType: "application/problem+json", text: JSON.stringify({ ...problem, message }) });
  }
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

export class Callers {
  readonly #names = new Set<string>();

  /** The name in `X-Simfleet-Caller`, else the product in the user agent; `other` for the 51st name and all later ones. */
  nameOf(headers: IncomingHttpHeaders): string {
    const given = [headers["x-simfleet-caller"]].flat()[0] ?? "";
    const product = /^[^\s/(]*/.exec(headers["user-agent"] ?? "")?.[0] ?? "";
    const name = clean(given) || clean(product) || "unknown";
    if (!this.#names.has(name) && this.#names.size >= maxNames) return "other";
    this.#names.add(name);
    return name;
  }
}

function clean(text: string): string {
  return text
    .trim()
    .slice(0, maxCharacters)
    .replace(/[^A-Za-z0-9._-]+/g, "-")
    .replace(/^-+|-+$/g, "");
}
