/**
 * The connections to the platform, and nothing else: no retries, no redirects, no quota, no interpretation. It uses
 * undici's dispatcher directly, since the request API's stream per response costs more than the rest of a call.
 * HTTP/1.1 with one request per connection at a time, so that a broken connection costs exactly one response. undici is
 * loaded on first use, since most commands make no call; a worker loads it at its start.
 */
import type * as Undici from "undici";
import { openDispatcher, type OutgoingProxy } from "#core/proxy.ts";
import type { Clock } from "#core/time.ts";
import type { Address } from "./address.ts";
import type { AnswerHeaders } from "./headers.ts";
import type { Answer } from "./response.ts";
import { AnswerLimit, AnswerTooLarge, connectTimeoutMs, transportFailure } from "./transport-failure.ts";

export interface TransportOptions {
  /** Maximum number of connections per address. */
  readonly connections: number;
  readonly clock: Clock;
  /** For the response headers after sending, and again for the body; default 30,000. */
  readonly answerTimeoutMs?: number | undefined;
  /** Maximum size of a response body in bytes; default 4 MiB. */
  readonly maxBodyBytes?: number | undefined;
  readonly proxy?: OutgoingProxy | undefined;
}

export interface Exchange {
  /** For messages. */
  readonly operation: string;
  readonly address: Address;
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** Path and query after the prefix of the address. */
  readonly path: string;
  /** Name, value, name, value… */
  readonly headers: readonly string[];
  readonly body?: string | undefined;
  /** Called at two instants: when the request is sent, and when the response headers arrive. */
  readonly watcher?: { sending(): void; head(status: number, headers: AnswerHeaders): void } | undefined;
}

/** A process that runs for long loads it before its first call, by when the program's files may have been replaced. */
export function loadUndici(): Promise<typeof Undici> {
  return import("undici");
}

export type Transport = ReturnType<typeof openTransport>;

export function openTransport({ answerTimeoutMs = 30_000, maxBodyBytes = 2 ** 22, ...options }: TransportOptions) {
  const { connections, proxy, clock } = options;
  const limits = { clock, answerTimeoutMs, maxBodyBytes };
  let dispatcher: Undici.Dispatcher | undefined;
  let opening: Promise<Undici.Dispatcher> | undefined;
  let closing: Promise<void> | undefined;

  const open = async (): Promise<Undici.Dispatcher> => {
    const how = { connections, pipelining: 1, allowH2: false, connect: { timeout: connectTimeoutMs } };
    dispatcher = openDispatcher(await loadUndici(), { ...how, connectTimeoutMs }, proxy);
    return dispatcher;
  };

  return {
    /**
     * Sends one request and reads the whole response, whatever its status. A request that was sent runs to completion:
     * only its response shows the outcome of a change.
     * @throws PlatformError PLATFORM_UNAVAILABLE; `mayHaveApplied` says whether the request was sent
     */
    exchange: async (exchange: Exchange): Promise<Answer> => {
      const opened = dispatcher ?? (await (opening ??= open()));
      return new Promise((resolve, reject) => {
        opened.dispatch(
          {
            origin: exchange.address.origin,
            path: exchange.address.prefix + exchange.path,
            method: exchange.method,
            headers: exchange.headers as string[],
            body: exchange.body ?? null,
            headersTimeout: answerTimeoutMs,
            bodyTimeout: answerTimeoutMs,
          },
          new Receiver(exchange, limits, { resolve, reject }),
        );
      });
    },

    /** Waits for exchanges in progress, then closes the connections; a later exchange fails unsent. */
    close: (): Promise<void> => {
      // Opened even if nothing was sent, so that a later exchange fails.
      closing ??= (opening ??= open()).then((opened) => opened.close());
      return closing;
    },
  };
}

type Limits = Pick<TransportOptions, "clock"> & Readonly<Record<"answerTimeoutMs" | "maxBodyBytes", number>>;
type Settle = Pick<PromiseWithResolvers<Answer>, "resolve" | "reject">;

/** Collects one response within its limits, as a handler of undici's dispatcher. What comes after it is dropped. */
class Receiver {
  readonly #exchange: Exchange;
  readonly #limits: Limits;
  readonly #settle: Settle;
  #controller: { abort(reason: Error): void } | undefined;
  #hasEnded = false;
  #status: number | undefined;
  #headers: AnswerHeaders = {};
  readonly #chunks: Buffer[] = [];
  #bytes = 0;
  #bodyEndsMs = 0;

  constructor(exchange: Exchange, limits: Limits, settle: Settle) {
    this.#exchange = exchange;
    this.#limits = limits;
    this.#settle = settle;
  }

  onRequestStart(controller: { abort(reason: Error): void }): void {
    if (this.#controller === undefined) this.#exchange.watcher?.sending();
    this.#controller = controller;
  }

  onResponseStart(_controller: unknown, status: number, headers: AnswerHeaders): void {
    if (status < 200 || this.#hasEnded) return;
    this.#status = status;
    this.#headers = headers;
    this.#bodyEndsMs = this.#limits.clock.monotonicMs() + this.#limits.answerTimeoutMs;
    this.#exchange.watcher?.head(status, headers);
    this.#checkSize(Number(headers["content-length"] ?? 0));
  }

  onResponseData(_controller: unknown, chunk: Buffer): void {
    if (this.#hasEnded) return;
    this.#bytes += chunk.byteLength;
    this.#chunks.push(chunk);
    this.#checkSize(this.#bytes);
    if (this.#limits.clock.monotonicMs() <= this.#bodyEndsMs) return;
    // The connection's own timeout detects only silence; this one detects a response that trickles in.
    this.#fail(new AnswerLimit(`the response was not complete after ${this.#limits.answerTimeoutMs / 1_000} s`));
  }

  onResponseEnd(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    const [only] = this.#chunks;
    const body = this.#chunks.length === 1 && only !== undefined ? only : Buffer.concat(this.#chunks);
    this.#settle.resolve({ status: this.#status ?? 0, headers: this.#headers, body });
  }

  onResponseError(_controller: unknown, error: Error): void {
    this.#fail(error);
  }

  #checkSize(bytes: number): void {
    const { maxBodyBytes } = this.#limits;
    if (bytes > maxBodyBytes) this.#fail(new AnswerTooLarge(`the response is larger than ${maxBodyBytes} bytes`));
  }

  #fail(reason: Error): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    const facts = { ...this.#exchange, ...this.#limits, wasSent: this.#controller !== undefined, status: this.#status };
    this.#settle.reject(transportFailure(reason, facts));
    this.#controller?.abort(reason);
  }
}
