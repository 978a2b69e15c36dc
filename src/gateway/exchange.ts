/**
 * One request to the platform and its response, streamed in both directions as fast as they are read. The permit ends with the
 * head of the response. A caller that has gone does not end a call that was sent: only its response shows what it cost. An error
 * is kept until it is whole, and sent without live secrets: some platforms repeat what they got.
 */
import type { ServerResponse } from "node:http";
import { addAbortSignal, type Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import * as undici from "undici";
import type { Dispatcher } from "undici";
import type { Attempt } from "#api/http/attempt.ts";
import type { Address } from "#api/http/address.ts";
import { transportFailure } from "#api/http/transport-failure.ts";
import { PlatformError, SimfleetError } from "#core/errors.ts";
import { openDispatcher, type OutgoingProxy } from "#core/proxy.ts";
import { scrubSecrets } from "#core/scrub-secrets.ts";
import { secondMs } from "#core/time.ts";
import { answerHeaders } from "./headers.ts";

const connectTimeoutMs = 10 * secondMs;
/** For the headers of a response, and for a pause in its body. */
const answerTimeoutMs = 30 * secondMs;
/** The body of a larger error is left out. */
const maxErrorBytes = 64 * 1_024;

export type Connections = Dispatcher;

/** Each call gets a connection at once: the number of calls is limited where they come in. No redirect is followed. */
export function openConnections(proxy: OutgoingProxy | undefined): Connections {
  const options = { pipelining: 1, allowH2: false, connect: { timeout: connectTimeoutMs } };
  return openDispatcher(undici, { ...options, connectTimeoutMs }, proxy).compose(watched);
}

export interface Exchange {
  readonly connections: Connections;
  readonly operation: string;
  readonly address: Address;
  readonly method: string;
  /** Path and query after the prefix of the address. */
  readonly path: string;
  readonly headers: readonly string[];
  readonly body: Buffer | AsyncIterable<Buffer> | null;
  readonly attempt: Attempt;
  readonly onSent: () => void;
  /** Called when the request or the rest of its response fails, before the body of the response says so. */
  readonly onFailed: () => void;
}

export type PlatformAnswer = Dispatcher.ResponseData;

/** @returns the head of the response, with the body still to be read. @throws PlatformError; what the body throws */
export async function sendRequest(exchange: Exchange): Promise<PlatformAnswer> {
  const { connections, address, attempt, body, operation, method, path, headers } = exchange;
  let wasSent = false;
  const noteSending = (): void => {
    if (wasSent) return;
    wasSent = true;
    attempt.sending();
    exchange.onSent();
  };
  try {
    const answer = await connections.request({
      onSending: noteSending,
      onFailed: exchange.onFailed,
      origin: address.origin,
      path: address.prefix + path,
      method,
      headers: [...headers],
      body: body as Buffer | null, // any iterable is taken
      headersTimeout: answerTimeoutMs,
      bodyTimeout: answerTimeoutMs,
    } as Dispatcher.RequestOptions & Watch);
    answer.body.on("error", () => undefined); // whoever reads it is told as well
    attempt.head(answer.statusCode, answer.headers);
    return answer;
  } catch (thrown) {
    attempt.failed();
    // A fault of the caller's own body is not one of the platform.
    if (thrown instanceof SimfleetError) throw thrown;
    const facts = { wasSent, status: undefined, connectTimeoutMs, answerTimeoutMs };
    throw transportFailure(thrown, { operation, address, method, ...facts });
  }
}

/** Options of a request that the dispatcher does not know. */
interface Watch {
  readonly onSending: () => void;
  readonly onFailed: () => void;
}

const watched: Dispatcher.DispatcherComposeInterceptor = (dispatch) => (options, handler) => {
  const { onSending, onFailed } = options as unknown as Watch;
  return dispatch(options, {
    onRequestStart: (...given) => {
      onSending();
      handler.onRequestStart?.(...given);
    },
    onResponseStart: (...given) => handler.onResponseStart?.(...given),
    onResponseData: (...given) => handler.onResponseData?.(...given),
    onResponseEnd: (...given) => handler.onResponseEnd?.(...given),
    onResponseError: (...given) => {
      onFailed();
      handler.onResponseError?.(...given);
    },
  });
};

export interface Forwarding {
  readonly response: ServerResponse;
  /** Aborts when the caller disconnects. */
  readonly gone: AbortSignal;
  /** A caller that does not read for this long is cut off. */
  readonly readerIdleMs: number;
  readonly operation: string;
}

/** Hands a response on, until the caller has it or has gone. @throws PlatformError if nothing of it could be sent */
export async function forwardAnswer(answer: PlatformAnswer, forwarding: Forwarding): Promise<void> {
  const { statusCode: status, body } = answer;
  const { response, gone, readerIdleMs, operation } = forwarding;
  addAbortSignal(gone, body);
  if (gone.aborted) return;
  try {
    if (status >= 400) return await forwardError(answer, response);
    response.writeHead(status, answerHeaders(answer.headers));
    response.setTimeout(readerIdleMs, () => response.destroy());
    await pipeline(body, response);
  } catch {
    body.destroy();
    // What breaks off later breaks off for the caller as well.
    if (response.headersSent || response.destroyed) return;
    const message = `${operation}: the platform responded with ${status}, but the response was not complete or is not valid HTTP. The call may have taken effect.`;
    throw new PlatformError("PLATFORM_RESPONSE_INVALID", message, { operation, status, mayHaveApplied: true });
  }
}

async function forwardError({ statusCode, headers, body }: PlatformAnswer, response: ServerResponse): Promise<void> {
  const received = await readError(body);
  if (response.destroyed) return;
  const text = received?.toString();
  const scrubbed = text === undefined ? tooLarge : scrubSecrets(text);
  const sent = received !== undefined && scrubbed === text ? received : Buffer.from(scrubbed);
  const kept = received === undefined ? { "content-type": "text/plain" } : answerHeaders(headers, scrubSecrets);
  const length = response.req.method === "HEAD" ? {} : { "content-length": String(sent.byteLength) };
  response.writeHead(statusCode, { ...kept, ...length }).end(sent);
}

const tooLarge = "The gateway left out the body of this error: it is larger than 64 KiB.\n";

/** Undefined if it is too large. */
async function readError(body: Readable): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength;
    if (bytes > maxErrorBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
