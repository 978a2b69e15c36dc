/**
 * Receives the platform's answer to one call and streams it to the caller, as fast as the caller reads. The permit ends with
 * the head of the answer. A caller that has gone does not end a call that was sent: only its response shows what it cost.
 * An error is kept until it is whole, and sent without live secrets: some platforms repeat what they got.
 */
import type { ServerResponse } from "node:http";
import type { Address } from "#api/http/address.ts";
import type { Attempt } from "#api/http/attempt.ts";
import type { AnswerHeaders } from "#api/http/response-headers.ts";
import { transportFailure } from "#api/http/transport-failure.ts";
import { SimfleetError } from "#core/errors.ts";
import { scrubSecrets } from "#core/scrub-secrets.ts";
import { type Clock, secondMs } from "#core/time.ts";
import { answerHeaders } from "./headers.ts";

export const connectTimeoutMs = 10 * secondMs;
/** For the headers of an answer, and for a pause in its body. */
export const answerTimeoutMs = 30 * secondMs;
/** The body of a larger error is left out. */
const maxErrorBytes = 64 * 1_024;

export interface AnswerDeps {
  readonly clock: Clock;
  readonly response: ServerResponse;
  readonly attempt: Attempt;
  readonly operation: string;
  readonly address: Address;
  /** Statuses whose answer is dropped, since the call is sent again or refused. */
  readonly dropped: ReadonlySet<number>;
  readonly onSent: () => void;
  /** A caller that does not read for this long is cut off. */
  readonly readerIdleMs: number;
}

interface Controller {
  abort(reason: Error): void;
  pause(): void;
  resume(): void;
}

/** Implements the handler methods of undici's dispatcher. */
export class AnswerStream {
  /** The status, once the caller has the whole answer or will get none of it; rejects if there is no answer. */
  readonly ended: Promise<number>;
  readonly #deps: AnswerDeps;
  readonly #settle: { resolve(status: number): void; reject(reason: unknown): void };
  #controller: Controller | undefined;
  #wasSent = false;
  #status: number | undefined;
  #error: { readonly headers: Record<string, string | string[]>; readonly chunks: Buffer[]; bytes: number } | undefined;

  constructor(deps: AnswerDeps) {
    this.#deps = deps;
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    this.ended = promise;
    this.#settle = { resolve, reject };
    deps.response.once("close", this.#onCallerGone);
  }

  onRequestStart(controller: Controller): void {
    this.#controller = controller;
    if (this.#wasSent) return;
    this.#wasSent = true;
    this.#deps.attempt.sending();
    this.#deps.onSent();
  }

  onResponseStart(controller: Controller, status: number, headers: AnswerHeaders): void {
    if (status < 200) return;
    const { attempt, response, dropped } = this.#deps;
    this.#controller = controller;
    this.#status = status;
    attempt.head(status, headers);
    if (dropped.has(status)) return;
    if (response.destroyed) return this.#onCallerGone();
    if (status >= 400) this.#error = { headers: answerHeaders(headers), chunks: [], bytes: 0 };
    else response.writeHead(status, answerHeaders(headers));
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    const { response, dropped } = this.#deps;
    if (dropped.has(this.#status ?? 0) || response.destroyed) return;
    if (this.#error !== undefined) {
      this.#error.bytes += chunk.byteLength;
      if (this.#error.bytes <= maxErrorBytes) this.#error.chunks.push(chunk);
      else controller.abort(new Error("the error is too large"));
      return;
    }
    if (response.write(chunk)) return;
    controller.pause();
    void this.#untilRead(controller);
  }

  onResponseEnd(): void {
    const { response, dropped } = this.#deps;
    if (this.#error !== undefined) this.#sendError(this.#error);
    else if (!dropped.has(this.#status ?? 0)) response.end();
    this.#end(() => this.#settle.resolve(this.#status ?? 0));
  }

  onResponseError(_controller: Controller | null, error: Error): void {
    const { attempt, response, operation, address } = this.#deps;
    attempt.failed();
    const status = this.#status;
    // The caller sees that the answer is not whole.
    if (response.headersSent) {
      response.flushHeaders();
      response.destroy();
    } else if ((this.#error?.bytes ?? 0) > maxErrorBytes) {
      this.#sendError(tooLarge);
    }
    if (status !== undefined) return this.#end(() => this.#settle.resolve(status));
    // A fault of the caller's own body is not one of the platform.
    if (error instanceof SimfleetError) return this.#end(() => this.#settle.reject(error));
    const facts = { wasSent: this.#wasSent, status: undefined, connectTimeoutMs, answerTimeoutMs };
    this.#end(() => this.#settle.reject(transportFailure(error, { operation, address, ...facts })));
  }

  readonly #onCallerGone = (): void => {
    const { response } = this.#deps;
    if (this.#status !== undefined && !response.writableFinished)
      this.#controller?.abort(new Error("the caller has gone"));
  };

  #sendError({ headers, chunks }: { headers: Record<string, string | string[]>; chunks: readonly Buffer[] }): void {
    const { response } = this.#deps;
    if (response.destroyed) return;
    const body = Buffer.concat(chunks);
    const text = body.toString();
    const scrubbed = scrubSecrets(text);
    const sent = scrubbed === text ? body : Buffer.from(scrubbed);
    const isHead = response.req.method === "HEAD";
    const length = isHead ? {} : { "content-length": String(sent.byteLength) };
    const entries = Object.entries(headers).map(([name, value]) => [name, scrubHeader(value)] as const);
    response.writeHead(this.#status ?? 0, { ...Object.fromEntries(entries), ...length }).end(sent);
  }

  async #untilRead(controller: Controller): Promise<void> {
    const { clock, response } = this.#deps;
    const moved = new AbortController();
    const move = (): void => moved.abort();
    response.once("drain", move).once("close", move);
    const isStuck = await clock.sleep(this.#deps.readerIdleMs, moved.signal).then(
      () => true,
      () => false,
    );
    response.off("drain", move).off("close", move);
    if (isStuck) response.destroy();
    else if (!response.destroyed) controller.resume();
  }

  #end(settle: () => void): void {
    this.#deps.response.off("close", this.#onCallerGone);
    settle();
  }
}

const tooLarge = {
  headers: { "content-type": "text/plain" },
  chunks: [Buffer.from("The gateway left out the body of this error: it is larger than 64 KiB.\n")],
};

function scrubHeader(value: string | string[]): string | string[] {
  return typeof value === "string" ? scrubSecrets(value) : value.map(scrubSecrets);
}
