/**
 * Sends one call once: permit, exchange, parsing of the response. It knows nothing of pairs beyond the headers it is
 * given.
 */
import { PlatformError } from "#core/errors.ts";
import type { Permit } from "#limiter/permit.ts";
import { quotaWait, type Timing } from "#core/timings.ts";
import { traced, tracing } from "#core/traced.ts";
import type { Address } from "./address.ts";
import { Attempt, type AttemptDeps } from "./attempt.ts";
import type { CallOptions, Permits, PlatformClientOptions } from "../client-options.ts";
import { bucketOf, type Operation, type Target } from "../operations/operation.ts";
import type { AnswerHeaders } from "./response-headers.ts";
import type { Exchange } from "./exchange.ts";
import { type Answer, readAnswer } from "./response.ts";
import type { Transport } from "./transport.ts";

/** Address of a call and the headers it carries: name, value, name, value… */
export interface Route {
  readonly address: Address;
  readonly headers: readonly string[];
  /** The same, for calls with a body. */
  readonly bodyHeaders: readonly string[];
  /** Who has the quotas that calls on it spend. */
  readonly owner: string;
}

interface Sending {
  readonly target: Target;
  readonly route: Route;
  readonly options: CallOptions;
}

export interface Reply<O> {
  readonly value: O;
  readonly headers: AnswerHeaders;
}

export class Sender {
  readonly #permits: Permits;
  readonly #transport: Transport;
  readonly #around: AttemptDeps;
  readonly #egress: string | undefined;

  constructor(
    { permits, egress }: Pick<PlatformClientOptions, "permits" | "egress">,
    transport: Transport,
    around: AttemptDeps,
  ) {
    this.#permits = permits;
    this.#transport = transport;
    this.#around = around;
    this.#egress = egress;
  }

  /** @throws PlatformError; the signal's reason if it aborts before the request is sent; whatever `acquire` throws */
  async send<I, O>(operation: Operation<I, O>, call: Sending): Promise<Reply<O>> {
    const { address, owner } = call.route;
    const { path, body } = call.target;
    const { signal, urgency = "normal", pace, backlog, onSending, beforeSending } = call.options;
    const headers = body === undefined ? call.route.headers : call.route.bodyHeaders;
    const watcher = await this.attempt(operation, owner, { urgency, pace, backlog, signal });
    const { id, method } = operation;
    let answer;
    onSending?.();
    try {
      if (beforeSending !== undefined) await beforeSending();
      // Without the signal: a slot guarantees a connection, so the request is sent immediately.
      answer = await this.#exchange({ operation: id, address, method, path, headers, body, watcher });
    } catch (thrown) {
      watcher.failed();
      throw thrown;
    }
    const { rateLimitedMs, retryAfterMs } = watcher;
    const bucket = bucketOf(operation, owner, this.#egress);
    const placed = { ...answer, bucket, host: address.host, rateLimitedMs, retryAfterMs };
    return { value: readAnswer(operation, placed), headers: answer.headers };
  }

  /** Acquires the permit of one call. @throws whatever `acquire` throws */
  async attempt(
    operation: Pick<Operation<never, unknown>, "id" | "quota">,
    owner: string,
    { urgency = "normal", pace, backlog, signal }: CallOptions,
  ): Promise<Attempt> {
    const bucket = bucketOf(operation, owner, this.#egress);
    const permit = await this.#permit({ bucket, urgency, pace, backlog, signal });
    return new Attempt(permit, this.#around, { operation: operation.id, bucket });
  }

  #exchange(exchange: Exchange): Promise<Answer> {
    if (tracing() === undefined) return this.#transport.exchange(exchange);
    const { operation, method, address } = exchange;
    return traced(
      () => {
        const { hostname, port, protocol } = new URL(address.origin);
        const attributes = {
          "http.request.method": method,
          "server.address": hostname,
          "server.port": Number(port) || (protocol === "https:" ? 443 : 80),
          "simfleet.endpoint": operation,
        };
        return { name: `${method} ${operation}`, kind: "client", attributes };
      },
      async (span) => {
        const answer = await this.#transport.exchange(exchange);
        span?.set({ "http.response.status_code": answer.status });
        if (answer.status >= 400) span?.fail(String(answer.status));
        return answer;
      },
    );
  }

  async #permit(request: Parameters<Permits["acquire"]>[0]): Promise<Permit> {
    if (!quotaWait.hasSubscribers) return this.#permits.acquire(request);
    const { bucket } = request;
    const { clock } = this.#around;
    const beganMs = clock.monotonicMs();
    const publish = (moreMs = 0): void => {
      const seconds = (clock.monotonicMs() - beganMs + moreMs) / 1_000;
      quotaWait.publish({ seconds, labels: { quota: bucket } } satisfies Timing);
    };
    try {
      const permit = await this.#permits.acquire(request);
      publish();
      return permit;
    } catch (thrown) {
      if (thrown instanceof PlatformError && thrown.bucket !== undefined) publish(thrown.retryAfterMs);
      throw thrown;
    }
  }
}
