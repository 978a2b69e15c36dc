/**
 * One exchange in progress: the request, its watcher, and the receiver that collects the response within its limits.
 * States of a receiver: waiting, sent, head, ended; ended is final, and anything that arrives later is dropped.
 */
import type { Clock } from "#core/time.ts";
import type { Address } from "./address.ts";
import type { AnswerHeaders } from "./response-headers.ts";
import type { Answer } from "./response.ts";
import { AnswerLimit, AnswerTooLarge, transportFailure } from "./transport-failure.ts";

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
  readonly signal?: AbortSignal | undefined;
  readonly watcher?: ExchangeWatcher | undefined;
}

/** Called at two instants: when the request is sent, and when the response headers arrive. */
export interface ExchangeWatcher {
  sending(): void;
  head(status: number, headers: AnswerHeaders): void;
}

export interface ExchangeLimits {
  readonly connectTimeoutMs: number;
  readonly answerTimeoutMs: number;
  readonly maxBodyBytes: number;
  readonly clock: Clock;
}

interface Settle {
  resolve(answer: Answer): void;
  reject(reason: unknown): void;
}

interface Controller {
  abort(reason: Error): void;
}

/** Implements the handler methods of undici's dispatcher. */
export class Receiver {
  readonly #exchange: Exchange;
  readonly #limits: ExchangeLimits;
  readonly #settle: Settle;
  readonly #onAbort: (() => void) | undefined;
  #controller: Controller | undefined;
  #wasSent = false;
  #hasEnded = false;
  #status: number | undefined;
  #headers: AnswerHeaders = {};
  readonly #chunks: Buffer[] = [];
  #bytes = 0;
  #bodyEndsMs = 0;

  constructor(exchange: Exchange, limits: ExchangeLimits, settle: Settle) {
    this.#exchange = exchange;
    this.#limits = limits;
    this.#settle = settle;
    if (exchange.signal === undefined) return;
    // A request that was sent runs to completion: only its response shows the outcome of a change.
    this.#onAbort = () => {
      if (!this.#wasSent) this.#fail(new DOMException("aborted", "AbortError"));
    };
    exchange.signal.addEventListener("abort", this.#onAbort, { once: true });
  }

  onRequestStart(controller: Controller): void {
    this.#controller = controller;
    if (this.#hasEnded) {
      controller.abort(new DOMException("aborted", "AbortError"));
      return;
    }
    if (this.#wasSent) return;
    this.#wasSent = true;
    this.#exchange.watcher?.sending();
  }

  onResponseStart(_controller: Controller, status: number, headers: AnswerHeaders): void {
    if (status < 200 || this.#hasEnded) return;
    this.#status = status;
    this.#headers = headers;
    this.#bodyEndsMs = this.#limits.clock.monotonicMs() + this.#limits.answerTimeoutMs;
    this.#exchange.watcher?.head(status, headers);
    if (Number(headers["content-length"] ?? 0) > this.#limits.maxBodyBytes) this.#failOversize();
  }

  onResponseData(_controller: Controller, chunk: Buffer): void {
    if (this.#hasEnded) return;
    this.#bytes += chunk.byteLength;
    if (this.#bytes > this.#limits.maxBodyBytes) {
      this.#failOversize();
    } else if (this.#limits.clock.monotonicMs() > this.#bodyEndsMs) {
      // The connection's own timeout detects only silence; this one detects a response that trickles in.
      this.#fail(new AnswerLimit(`the response was not complete after ${this.#limits.answerTimeoutMs / 1_000} s`));
    } else {
      this.#chunks.push(chunk);
    }
  }

  onResponseEnd(): void {
    if (this.#hasEnded) return;
    if (this.#status === undefined) {
      this.#fail(new AnswerLimit("the response had no status"));
      return;
    }
    this.#end();
    const [only] = this.#chunks;
    const body = this.#chunks.length === 1 && only !== undefined ? only : Buffer.concat(this.#chunks);
    this.#settle.resolve({ status: this.#status, headers: this.#headers, body });
  }

  onResponseError(_controller: Controller | null, error: Error): void {
    this.#fail(error);
  }

  #failOversize(): void {
    this.#fail(new AnswerTooLarge(`the response is larger than ${this.#limits.maxBodyBytes} bytes`));
  }

  #fail(reason: Error): void {
    if (this.#hasEnded) return;
    this.#end();
    const { signal, operation, address, method } = this.#exchange;
    if (signal?.aborted === true && !this.#wasSent) {
      this.#settle.reject(signal.reason);
      return;
    }
    const facts = { ...this.#limits, operation, address, method, wasSent: this.#wasSent, status: this.#status };
    this.#settle.reject(transportFailure(reason, facts));
    this.#controller?.abort(reason);
  }

  #end(): void {
    this.#hasEnded = true;
    if (this.#onAbort) this.#exchange.signal?.removeEventListener("abort", this.#onAbort);
  }
}
