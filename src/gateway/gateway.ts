/**
 * The gateway: an HTTP proxy in front of the platform for other tools. It spends the same quota as the runs, so that nobody on
 * the account gets a 429, and adds the pair, so that the tools need no credentials. Who may use it is decided before anything
 * is read of a request but its head: this machine, or whoever has the token, but no web page in a browser of this machine.
 */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { SimfleetError, messageOf } from "#core/errors.ts";
import type { Secret } from "#core/secret.ts";
import { secondMs } from "#core/time.ts";
import { version } from "#core/version.ts";
import { Access } from "#http/auth/access.ts";
import { AuthFailures } from "#http/auth/auth-failures.ts";
import { hostCheck } from "#http/auth/hosts.ts";
import { ConnectionLimits, connectionCheckMs, headersMs } from "#http/connection-limits.ts";
import { problemOf, retryAfterSeconds } from "#http/problem.ts";
import type { Logger } from "#telemetry/logger.ts";
import { ApiGroups, type GatewayOperation, type Grouping, readTarget } from "./api-groups.ts";
import { type CallDeps, CallerGone, type CallTimes, makeCall } from "./call.ts";
import { Callers } from "./callers.ts";
import { openConnections } from "./exchange.ts";
import { isCrossSite } from "./headers.ts";

/** Connections of callers that may use the gateway; each has one call in progress at most. */
const maxCallers = 1_024;
const maxHeaderBytes = 32 * 1_024;
const maxHeaders = 100;
/** How long calls that were sent may take when the gateway closes. */
const drainMs = 10 * secondMs;
const usualTimes: CallTimes = { aheadIdleMs: 30 * secondMs, restIdleMs: 5 * secondMs, readerIdleMs: 30 * secondMs };

export interface GatewayOptions extends Pick<CallDeps, "client" | "clock" | "freezeOf" | "maxWaitMs"> {
  readonly host: string;
  readonly port: number;
  /** Absent: none is needed. */
  readonly token: Secret | undefined;
  /** Requests with a wrong token per minute and address that get 401; further ones get 429. */
  readonly authFailuresPerMinute: number;
  /** Whether Redis answers. */
  readonly isReady: () => Promise<boolean>;
  /** The text for Prometheus; absent where the worker has them at its own `/metrics`. */
  readonly metrics?: (() => Promise<{ readonly contentType: string; readonly text: string }>) | undefined;
  readonly grouping: Grouping;
  readonly logger: Logger;
  readonly times?: Partial<CallTimes>;
}

export class Gateway {
  readonly #options: GatewayOptions;
  readonly #groups: ApiGroups;
  readonly #callers: Callers;
  readonly #connections = openConnections();
  readonly #closing = new AbortController();
  readonly #server: Server;
  readonly #isOurHost: (header: string | undefined) => boolean;
  readonly #access: Access;
  readonly #failures: AuthFailures;
  readonly #limits: ConnectionLimits;

  private constructor(options: GatewayOptions) {
    const { host, token, clock, logger, authFailuresPerMinute } = options;
    this.#options = options;
    this.#groups = new ApiGroups(options.grouping);
    this.#callers = new Callers(logger);
    this.#isOurHost = hostCheck({ host, port: () => this.#port, hosts: [] });
    this.#access = new Access({ tokens: [], adminToken: token?.reveal(), jwt: undefined, clock });
    this.#failures = new AuthFailures({ clock, maxPerMinute: authFailuresPerMinute });
    this.#limits = new ConnectionLimits({ clock, maxKnown: maxCallers });
    // Bodies have limits of their own, since large ones take long.
    const times = { headersTimeout: headersMs, connectionsCheckingInterval: connectionCheckMs, requestTimeout: 0 };
    this.#server = createServer({ maxHeaderSize: maxHeaderBytes, ...times }, (request, response) => {
      response.on("error", () => undefined);
      // An answer that cannot be written must not end the process.
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
    await new Promise<void>((resolve, reject) => {
      gateway.#server.once("error", (cause) => {
        const message = `The gateway cannot listen on ${host}:${port}: ${messageOf(cause)}. Choose another gateway.port.`;
        reject(new SimfleetError("USAGE", message, { cause }));
      });
      gateway.#server.listen(port, host, resolve);
    });
    return gateway;
  }

  /** `http://127.0.0.1:8081` */
  get url(): string {
    const { host } = this.#options;
    return `http://${host.includes(":") ? `[${host}]` : host}:${this.#port}`;
  }

  /** Refuses new calls and those that wait; calls that were sent get their answers, for a limited time. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#closing.abort(
      new SimfleetError("OVERLOADED", "The gateway is stopping: try again", { retryAfterMs: secondMs }),
    );
    const drained = new AbortController();
    await Promise.race([
      closed.finally(() => drained.abort()),
      this.#options.clock.sleep(drainMs, drained.signal).catch(() => undefined),
    ]);
    this.#server.closeAllConnections();
    await this.#connections.destroy();
    this.#callers.close();
  }

  get #port(): number {
    return (this.#server.address() as AddressInfo | null)?.port ?? 0;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { clock } = this.#options;
    const beganMs = clock.monotonicMs();
    const { headers, method = "GET", url = "" } = request;
    request.on("error", () => undefined); // an upload that breaks ends the call
    if (method === "GET" && (url === "/healthz" || url === "/readyz")) return this.#answerHealth(url, response);
    let caller = "unknown";
    try {
      await this.#admit(request);
      this.#limits.markKnown(request.socket);
      if (method === "GET" && url === "/metrics" && this.#options.metrics !== undefined) {
        return send(response, 200, await this.#options.metrics());
      }
      caller = this.#callers.nameOf(headers);
      const target = readTarget(url);
      const operation = this.#operationOf(method, target.segments);
      const urgency = headers["x-simfleet-priority"] === "high" ? "priority" : "normal";
      const onSent = (waitedMs: number): void => this.#callers.sent(caller, waitedMs);
      const times = { ...usualTimes, ...this.#options.times };
      const deps = { ...this.#options, times, connections: this.#connections, closing: this.#closing.signal };
      await makeCall({ request, response, operation, path: target.path, urgency, onSent }, deps);
    } catch (thrown) {
      if (!(thrown instanceof CallerGone)) this.#refuse(thrown, request, response);
    }
    const [path = ""] = url.split("?", 1);
    const status = response.headersSent ? response.statusCode : "gone";
    this.#callers.ended({ caller, method, path, status, ms: Math.round(clock.monotonicMs() - beganMs) });
  }

  /** `/healthz`: the process runs; `/readyz`: Redis answers as well. */
  async #answerHealth(url: string, response: ServerResponse): Promise<void> {
    const isFine = url === "/healthz" || (await this.#options.isReady().catch(() => false));
    const text = JSON.stringify({ status: isFine ? "ok" : "unavailable", version });
    send(response, isFine ? 200 : 503, { contentType: "application/json; charset=utf-8", text });
  }

  /** @throws SimfleetError FORBIDDEN, UNAUTHENTICATED, TOO_MANY_REQUESTS after too many wrong tokens */
  async #admit({ headers, socket }: IncomingMessage): Promise<void> {
    const { authorization } = headers;
    if (!this.#isOurHost(headers.host)) {
      throw new SimfleetError("FORBIDDEN", "This host name is not that of the gateway: use its address");
    }
    if (isCrossSite(headers)) throw new SimfleetError("FORBIDDEN", "Requests of web pages are not allowed");
    if (this.#options.token === undefined) return;
    try {
      await this.#access.principalOf(authorization);
    } catch (thrown) {
      throw this.#failures.refusal(thrown, { ip: socket.remoteAddress ?? "", authorization });
    }
  }

  /** @throws SimfleetError NOT_FOUND, FORBIDDEN */
  #operationOf(method: string, segments: readonly string[]): GatewayOperation {
    const operation = this.#groups.find(method, segments);
    if (operation === undefined) {
      const message =
        `No rule says which API group ${method} /${segments.join("/")} belongs to. Add its pattern to apiGroups of the ` +
        `deployment file, such as "/v1/sims/*/events": Sim`;
      throw new SimfleetError("NOT_FOUND", message);
    }
    if (operation.answersPair !== true) return operation;
    throw new SimfleetError(
      "FORBIDDEN",
      "The response to this call would contain the gateway's credentials, so the gateway does not forward the call",
    );
  }

  #refuse(thrown: unknown, request: IncomingMessage, response: ServerResponse): void {
    if (response.headersSent || response.destroyed) return;
    const problem = problemOf(thrown, randomUUID());
    const { code, status, instance } = problem;
    const isWaitOnly = thrown instanceof SimfleetError && thrown.disposition === "later";
    if (status >= 500 && !isWaitOnly)
      this.#options.logger.warn({ error: thrown, instance }, "a call through the gateway failed");
    if (status === 401) response.setHeader("www-authenticate", "Bearer");
    const seconds = retryAfterSeconds(thrown, code);
    if (seconds !== undefined) response.setHeader("retry-after", seconds);
    // What follows of the body is not read, and a connection that is one too many is not kept.
    if (!request.complete || code === "OVERLOADED") response.setHeader("connection", "close");
    send(response, status, { contentType: "application/problem+json", text: JSON.stringify(problem) });
  }
}

function send(response: ServerResponse, status: number, { contentType, text }: { contentType: string; text: string }) {
  response.writeHead(status, { "content-type": contentType, "cache-control": "no-store" }).end(text);
}
