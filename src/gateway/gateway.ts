/**
 * The gateway: an HTTP proxy in front of the platform for other tools. It spends the same quota as the runs, so that nobody on
 * the account gets a 429, and adds the pair, so that the tools need no credentials.
 */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { SimfleetError, messageOf } from "#core/errors.ts";
import type { Secret } from "#core/secret.ts";
import { type Clock, secondMs } from "#core/time.ts";
import { ConnectionLimits, connectionCheckMs, headersMs } from "#http/connection-limits.ts";
import { problemOf, retryAfterSeconds } from "#http/problem.ts";
import type { Logger } from "#telemetry/logger.ts";
import { admission, type Admit } from "./admission.ts";
import { ApiGroups, type GatewayOperation, type Grouping } from "./api-groups.ts";
import { CallLog } from "./call-log.ts";
import { type CallDeps, CallerGone, makeCall } from "./call.ts";
import { Callers } from "./callers.ts";
import { answerHealth, answerMetrics, type Monitoring, ownPathOf } from "./own-answers.ts";
import { PlatformConnections } from "./platform-connections.ts";
import { readTarget, type RequestTarget } from "./target.ts";

/** Connections of callers that may use the gateway; each has one call in progress at most. */
const maxCallers = 1_024;
const maxHeaderBytes = 32 * 1_024;
const maxHeaders = 100;
/** How long calls that were sent may take when the gateway closes. */
const drainMs = 10 * secondMs;
const usualTimes = { aheadIdleMs: 30 * secondMs, restIdleMs: 5 * secondMs, readerIdleMs: 30 * secondMs };

export interface GatewayOptions extends Pick<CallDeps, "client" | "freezeOf" | "maxWaitMs"> {
  readonly host: string;
  readonly port: number;
  readonly token: Secret | undefined;
  /** Requests with a wrong token per minute and address that get 401; further ones get 429. */
  readonly authFailuresPerMinute: number;
  readonly monitoring: Monitoring;
  readonly grouping: Grouping;
  readonly clock: Clock;
  readonly logger: Logger;
  /** How long a caller may pause. */
  readonly times?: Partial<CallDeps["times"]>;
}

export class Gateway {
  readonly #options: GatewayOptions;
  readonly #groups: ApiGroups;
  readonly #callers = new Callers();
  readonly #log: CallLog;
  readonly #connections = new PlatformConnections();
  readonly #closing = new AbortController();
  readonly #server: Server;
  readonly #admit: Admit;
  readonly #limits: ConnectionLimits;

  private constructor(options: GatewayOptions) {
    this.#options = options;
    this.#groups = new ApiGroups(options.grouping);
    this.#log = new CallLog(options.logger);
    this.#admit = admission({ ...options, port: () => this.#port });
    // Bodies have limits of their own, since large ones take long.
    const times = { headersTimeout: headersMs, connectionsCheckingInterval: connectionCheckMs, requestTimeout: 0 };
    this.#server = createServer({ maxHeaderSize: maxHeaderBytes, ...times }, (request, response) => {
      // An answer that cannot be written must not end the process.
      const end = (thrown: unknown): void => {
        options.logger.error({ error: thrown }, "a connection to the gateway failed");
        request.socket.destroy();
      };
      response.on("error", () => undefined);
      this.#answer(request, response).catch(end);
    });
    this.#server.maxHeadersCount = maxHeaders;
    this.#limits = new ConnectionLimits({ clock: options.clock, maxKnown: maxCallers });
    this.#limits.watch(this.#server);
    this.#server.on("connect", (_request, socket) => {
      socket.on("error", () => undefined).end("HTTP/1.1 405 Method Not Allowed\r\n\r\n");
    });
  }

  /** @throws SimfleetError USAGE if it cannot listen */
  static async open(options: GatewayOptions): Promise<Gateway> {
    const gateway = new Gateway(options);
    await gateway.#listen();
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
    await this.#connections.close();
    this.#log.close();
  }

  get #port(): number {
    return (this.#server.address() as AddressInfo | null)?.port ?? 0;
  }

  #listen(): Promise<void> {
    const { host, port } = this.#options;
    return new Promise((resolve, reject) => {
      this.#server.once("error", (cause) => {
        const message = `The gateway cannot listen on ${host}:${port}: ${messageOf(cause)}. Choose another gateway.port.`;
        reject(new SimfleetError("USAGE", message, { cause }));
      });
      this.#server.listen(port, host, resolve);
    });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { clock, monitoring } = this.#options;
    const beganMs = clock.monotonicMs();
    const { headers, method = "GET", url = "" } = request;
    request.on("error", () => undefined); // an upload that breaks ends the call
    const own = ownPathOf(method, url, monitoring);
    if (own === "health") return answerHealth(url, response, monitoring);
    let caller = "unknown";
    try {
      await this.#admit(request);
      this.#limits.markKnown(request.socket);
      if (own === "metrics") return await answerMetrics(response, monitoring);
      caller = this.#callers.nameOf(headers);
      const target = readTarget(url);
      const operation = this.#operationOf(method, target);
      const urgency = headers["x-simfleet-priority"] === "high" ? "priority" : "normal";
      const onSent = (waitedMs: number): void => this.#log.sent(caller, waitedMs);
      const call = { request, response, operation, path: target.path, urgency, onSent } as const;
      const { times, client, freezeOf, maxWaitMs } = this.#options;
      const closing = this.#closing.signal;
      const deps = { client, clock, freezeOf, maxWaitMs, closing, connections: this.#connections };
      await makeCall(call, { ...deps, times: { ...usualTimes, ...times } });
    } catch (thrown) {
      if (!(thrown instanceof CallerGone)) this.#refuse(thrown, request, response);
    }
    const [path = ""] = url.split("?", 1);
    const status = response.headersSent ? response.statusCode : "gone";
    this.#log.ended({ caller, method, path, status, ms: Math.round(clock.monotonicMs() - beganMs) });
  }

  /** @throws SimfleetError NOT_FOUND, FORBIDDEN */
  #operationOf(method: string, { segments }: RequestTarget): GatewayOperation {
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
    const seconds = retryAfterSeconds(thrown, code);
    response.writeHead(status, {
      "content-type": "application/problem+json",
      "cache-control": "no-store",
      ...(status === 401 ? { "www-authenticate": "Bearer" } : {}),
      ...(seconds === undefined ? {} : { "retry-after": String(seconds) }),
      // What follows of the body is not read, and a connection that is one too many is not kept.
      ...(request.complete && code !== "OVERLOADED" ? {} : { connection: "close" }),
    });
    response.end(JSON.stringify(problem));
  }
}
