/**
 * The connections to the platform, and nothing else: no retries, no redirects, no quota, no interpretation. It uses
 * undici's dispatcher directly, since the request API's stream per response costs more than the rest of a call.
 * HTTP/1.1 with one request per connection at a time, so that a broken connection costs exactly one response. undici is
 * loaded on first use, since most commands make no call; a worker loads it at its start.
 */
import type * as Undici from "undici";
import { openDispatcher, type OutgoingProxy } from "#core/proxy.ts";
import type { Clock } from "#core/time.ts";
import { type Exchange, type ExchangeLimits, Receiver } from "./exchange.ts";
import type { Answer } from "./response.ts";

export interface TransportOptions {
  /** Maximum number of connections per address. */
  readonly connections: number;
  readonly clock: Clock;
  /** For DNS, connection and TLS together; default 10,000. */
  readonly connectTimeoutMs?: number | undefined;
  /** For the response headers after sending, and again for the body; default 30,000. */
  readonly answerTimeoutMs?: number | undefined;
  /** Maximum size of a response body in bytes; default 4 MiB. */
  readonly maxBodyBytes?: number | undefined;
  readonly proxy?: OutgoingProxy | undefined;
}

/** A process that runs for long loads it before its first call, by when the program's files may have been replaced. */
export function loadUndici(): Promise<typeof Undici> {
  return import("undici");
}

export class Transport {
  readonly #options: TransportOptions;
  readonly #limits: ExchangeLimits;
  #dispatcher: Undici.Dispatcher | undefined;
  #opening: Promise<Undici.Dispatcher> | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: TransportOptions) {
    this.#limits = {
      connectTimeoutMs: options.connectTimeoutMs ?? 10_000,
      answerTimeoutMs: options.answerTimeoutMs ?? 30_000,
      maxBodyBytes: options.maxBodyBytes ?? 4 * 1_024 * 1_024,
      clock: options.clock,
    };
    this.#options = options;
  }

  /**
   * Sends one request and reads the whole response, whatever its status.
   * @throws PlatformError PLATFORM_UNAVAILABLE; `mayHaveApplied` says whether the request was sent
   * @throws the signal's reason if it aborts before the request is sent
   */
  async exchange(exchange: Exchange): Promise<Answer> {
    const dispatcher = this.#dispatcher ?? (await (this.#opening ??= this.#open()));
    const { signal, address } = exchange;
    signal?.throwIfAborted();
    return new Promise((resolve, reject) => {
      dispatcher.dispatch(
        {
          origin: address.origin,
          path: address.prefix + exchange.path,
          method: exchange.method,
          headers: exchange.headers as string[],
          body: exchange.body ?? null,
          headersTimeout: this.#limits.answerTimeoutMs,
          bodyTimeout: this.#limits.answerTimeoutMs,
        },
        new Receiver(exchange, this.#limits, { resolve, reject }),
      );
    });
  }

  /** Waits for exchanges in progress, then closes the connections; a later exchange fails unsent. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #open(): Promise<Undici.Dispatcher> {
    const { connectTimeoutMs } = this.#limits;
    const { connections, proxy } = this.#options;
    const options = { connections, pipelining: 1, allowH2: false, connect: { timeout: connectTimeoutMs } };
    this.#dispatcher = openDispatcher(await loadUndici(), { ...options, connectTimeoutMs }, proxy);
    return this.#dispatcher;
  }

  async #close(): Promise<void> {
    // Opened even if nothing was sent, so that a later exchange fails.
    await (await (this.#opening ??= this.#open())).close();
  }
}
