/**
 * The connections to the platform, and nothing else: no retry, no redirect, no quota, no meaning. It works on undici's
 * dispatcher directly, since the request API's stream per answer costs more than the rest of a call together. HTTP/1.1
 * with one request per connection at a time, so that a broken connection costs exactly one answer.
 */
import { Agent, type Dispatcher } from "undici";
import type { Clock } from "#core/time.ts";
import { type Exchange, type ExchangeLimits, Receiver } from "./exchange.ts";
import type { Answer } from "./response.ts";

export interface TransportOptions {
  /** Connections to each address at most. */
  readonly connections: number;
  readonly clock: Clock;
  /** For name, connection and TLS together; 10,000 by default. */
  readonly connectTimeoutMs?: number | undefined;
  /** For the head of an answer after sending, and again for its body; 30,000 by default. */
  readonly answerTimeoutMs?: number | undefined;
  /** Largest body that is read, in bytes; 4 MiB by default. */
  readonly maxBodyBytes?: number | undefined;
  /** Sends through this instead of connections of its own (a proxy); it is not closed with the transport. */
  readonly dispatcher?: Dispatcher | undefined;
}

export class Transport {
  readonly #dispatcher: Dispatcher;
  readonly #isOwn: boolean;
  readonly #limits: ExchangeLimits;
  #closing: Promise<void> | undefined;

  constructor(options: TransportOptions) {
    this.#limits = {
      connectTimeoutMs: options.connectTimeoutMs ?? 10_000,
      answerTimeoutMs: options.answerTimeoutMs ?? 30_000,
      maxBodyBytes: options.maxBodyBytes ?? 4 * 1_024 * 1_024,
      clock: options.clock,
    };
    this.#isOwn = options.dispatcher === undefined;
    this.#dispatcher =
      options.dispatcher ??
      new Agent({
        connections: options.connections,
        pipelining: 1,
        allowH2: false,
        connect: { timeout: this.#limits.connectTimeoutMs },
      });
  }

  /**
   * Sends one request and reads its answer whole, whatever its status.
   * @throws PlatformError PLATFORM_UNAVAILABLE; `mayHaveApplied` tells whether the request went out
   * @throws the signal's reason when it aborts before the request goes out
   */
  exchange(exchange: Exchange): Promise<Answer> {
    const { signal, address } = exchange;
    if (signal?.aborted) return Promise.reject(signal.reason);
    return new Promise((resolve, reject) => {
      this.#dispatcher.dispatch(
        {
          origin: address.origin,
          path: address.prefix + exchange.path,
          method: exchange.method,
          headers: exchange.headers as string[],
          body: exchange.body ?? null,
          headersTimeout: this.#limits.answerTimeoutMs,
          bodyTimeout: this.#limits.answerTimeoutMs,
        },
        new Receiver({ exchange, limits: this.#limits, settle: { resolve, reject } }),
      );
    });
  }

  /** Lets the exchanges under way end, then closes the connections; an exchange after that fails unsent. */
  close(): Promise<void> {
    this.#closing ??= this.#isOwn ? this.#dispatcher.close() : Promise.resolve();
    return this.#closing;
  }
}
