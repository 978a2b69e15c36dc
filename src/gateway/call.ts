/**
 * One call: its body is read ahead, so that a slow upload holds no permit; it waits for its turn, and is sent with a
 * loan of the pair. The permit comes last, and ends with the head of the response. A 429 and a 401 of the platform mean
 * that nothing was carried out: the call is sent again if its body is still there. A caller that has gone does not end
 * a call that was sent: only its response shows what it cost. Bodies are streamed as fast as they are read, but an
 * error is kept until it is whole, and sent without live secrets: some platforms repeat what they got.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { addAbortSignal, type Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import * as undici from "undici";
import type { Dispatcher } from "undici";
import type { PlatformClient } from "#api/client.ts";
import { connectTimeoutMs, transportFailure } from "#api/http/transport-failure.ts";
import { PlatformError, SimfleetError } from "#core/errors.ts";
import { openDispatcher, type OutgoingProxy } from "#core/proxy.ts";
import { scrubSecrets } from "#core/secrets/scrub-secrets.ts";
import { type Clock, inTime, secondMs } from "#core/time.ts";
import { gatewayWait, type Timing } from "#core/timings.ts";
import { type Freeze, assertUnfrozen } from "#fleet/freeze.ts";
import { goneSignal } from "#http/connection-limits.ts";
import type { Urgency } from "#limiter/permit.ts";
import type { GatewayOperation } from "./api-groups.ts";
import { answerHeaders, requestHeaders } from "./headers.ts";

/** For the headers of a response, and for a pause in its body. */
const answerTimeoutMs = 30 * secondMs;
/** The body of a larger error is left out. */
const maxErrorBytes = 64 * 1_024;

export interface CallDeps {
  readonly client: Pick<PlatformClient, "attempt" | "lend">;
  readonly connections: Dispatcher;
  readonly clock: Clock;
  /** Longest wait for permit and pair, from the body that was read ahead on. */
  readonly maxWaitMs: number;
  /** The current freeze of changes, if there is one. */
  readonly freezeOf: () => Promise<Freeze | undefined>;
  /** Aborts when the gateway closes. */
  readonly closing: AbortSignal;
  readonly times: CallTimes;
}

/** How long a caller may pause, ms. */
export const usualTimes = {
  /** While its body is read ahead. */
  aheadIdleMs: 30 * secondMs,
  /** In the rest of its body, while a permit is held. */
  restIdleMs: 5 * secondMs,
  /** While it reads the response. */
  readerIdleMs: 30 * secondMs,
};

export type CallTimes = Readonly<typeof usualTimes>;

export interface Call {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly operation: GatewayOperation;
  readonly urgency: Urgency;
  readonly caller: string;
}

/** Each call gets a connection at once: the number of calls is limited where they come in. No redirect is followed. */
export function openConnections(proxy: OutgoingProxy | undefined): Dispatcher {
  const options = { pipelining: 1, allowH2: false, connect: { timeout: connectTimeoutMs } };
  return openDispatcher(undici, { ...options, connectTimeoutMs }, proxy).compose(watched);
}

/** Option of a request that the dispatcher does not know. */
interface Watch {
  readonly onSending: () => void;
}

const watched: Dispatcher.DispatcherComposeInterceptor = (dispatch) => (options, handler) => {
  const onRequestStart = handler.onRequestStart?.bind(handler);
  handler.onRequestStart = (...given) => {
    (options as unknown as Watch).onSending();
    onRequestStart?.(...given);
  };
  return dispatch(options, handler);
};

/**
 * Streams the response to the caller.
 * @throws SimfleetError and PlatformError while nothing of a response was sent to the caller; anything if it has gone
 */
export async function makeCall(call: Call, deps: CallDeps): Promise<void> {
  const { request, response, operation, urgency, caller } = call;
  const { client, clock } = deps;
  await refuseDuringFreeze(call, deps);
  // Before the permit: nothing that throws may come between it and the request.
  const own = requestHeaders(request.headersDistinct);
  const gone = goneSignal(response);
  const body = await readAhead(request, deps);
  const beganMs = clock.monotonicMs();
  let isMeasured = false;
  const onSent = (): void => {
    const seconds = (clock.monotonicMs() - beganMs) / secondMs;
    if (!isMeasured) gatewayWait.publish({ seconds, labels: { caller } } satisfies Timing);
    isMeasured = true;
  };
  const wait = patience(deps, gone);
  for (let hasNewPair = false; ;) {
    const loan = await wait((signal) => client.lend(signal));
    const attempt = await wait((signal) => client.attempt(operation, { urgency, signal }));
    await refuseDuringFreeze(call, deps).catch((thrown: unknown) => {
      attempt.failed(); // the freeze began while the call waited
      throw thrown;
    });
    const answer = await send(call, deps.connections, {
      address: loan.address,
      headers: [...own, ...loan.headers],
      body,
      attempt,
      onSent,
    });
    const { statusCode: status } = answer;
    const mayRenew = loan.end(status);
    if (status !== 429 && status !== 401) return forward(answer, { call, deps, gone });
    answer.body.dump().catch(() => undefined);
    if (status === 401 && (!mayRenew || hasNewPair)) throw refusedPair(operation);
    hasNewPair ||= status === 401;
    // After a 429 the bucket is blocked, so the next turn comes after the refresh.
    if (body === null || Buffer.isBuffer(body)) continue;
    const cause = status === 401 ? "The gateway's token had expired" : "The quota is used up";
    const message = `${cause}, and the request body is too large for the gateway to send again. Nothing was changed: try again.`;
    throw notNow(message, status === 401 ? secondMs : attempt.rateLimitedMs);
  }
}

interface Sending {
  readonly address: Awaited<ReturnType<PlatformClient["lend"]>>["address"];
  readonly headers: string[];
  readonly body: Body;
  readonly attempt: Awaited<ReturnType<PlatformClient["attempt"]>>;
  readonly onSent: () => void;
}

/** @returns the head of the response, with the body still to be read. @throws PlatformError; what the body throws */
async function send({ request, operation: { id } }: Call, connections: Dispatcher, sending: Sending) {
  const { address, headers, body, attempt, onSent } = sending;
  const { method = "GET", url = "" } = request;
  let wasSent = false;
  const onSending = (): void => {
    if (wasSent) return;
    wasSent = true;
    attempt.sending();
    onSent();
  };
  try {
    const answer = await connections.request({
      onSending,
      origin: address.origin,
      path: address.prefix + url,
      method,
      headers,
      body: body as Buffer | null, // any iterable is taken
      headersTimeout: answerTimeoutMs,
      bodyTimeout: answerTimeoutMs,
    } as Dispatcher.RequestOptions & Watch);
    answer.body.on("error", () => undefined); // its reader gets it as well
    attempt.head(answer.statusCode, answer.headers);
    return answer;
  } catch (thrown) {
    attempt.failed();
    // A fault of the caller's own body is not one of the platform.
    if (thrown instanceof SimfleetError) throw thrown;
    const facts = { wasSent, status: undefined, answerTimeoutMs };
    throw transportFailure(thrown, { operation: id, address, method, ...facts });
  }
}

/** Hands a response on, until the caller has it or has gone. @throws PlatformError if nothing of it could be sent */
async function forward(
  answer: Dispatcher.ResponseData,
  { call, deps, gone }: { call: Call; deps: CallDeps; gone: AbortSignal },
): Promise<void> {
  const { statusCode: status, headers, body } = answer;
  const { response, operation } = call;
  addAbortSignal(gone, body);
  if (gone.aborted) return;
  try {
    if (status >= 400) return await forwardError(answer, response);
    // At once: a body that breaks off would take a head that waits for its first bytes with it.
    response.writeHead(status, answerHeaders(headers)).flushHeaders();
    response.setTimeout(deps.times.readerIdleMs, () => response.destroy());
    await pipeline(body, response);
  } catch {
    body.destroy();
    // What breaks off later breaks off for the caller as well.
    if (response.headersSent || response.destroyed) return;
    const { id } = operation;
    const message = `${id}: the platform responded with ${status}, but the response was not complete or is not valid HTTP. The call may have taken effect.`;
    throw new PlatformError("PLATFORM_RESPONSE_INVALID", message, { operation: id, status, mayHaveApplied: true });
  }
}

async function forwardError(
  { statusCode, headers, body }: Dispatcher.ResponseData,
  response: ServerResponse,
): Promise<void> {
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

/** @throws SimfleetError CHANGES_FROZEN for a call that may change something: whatever does not only read */
async function refuseDuringFreeze({ request }: Call, { clock, freezeOf }: CallDeps): Promise<void> {
  if (["GET", "HEAD", "OPTIONS"].includes(request.method ?? "")) return;
  assertUnfrozen(await freezeOf(), clock.wallMs());
}

function notNow(message: string, retryAfterMs: number): SimfleetError {
  return new SimfleetError("PLATFORM_RATE_LIMITED", message, { retryAfterMs: Math.max(secondMs, retryAfterMs) });
}

function refusedPair({ id }: GatewayOperation): PlatformError {
  const message = `${id}: the platform rejected the gateway's credentials. Check them with: simfleet check`;
  return new PlatformError("PLATFORM_UNAUTHORIZED", message, { operation: id, status: 401 });
}

/** Asks again after each refresh. @throws whatever `ask` throws otherwise; the reason why the wait is over */
type Wait = <T>(ask: (signal: AbortSignal) => Promise<T>) => Promise<T>;

/**
 * Limits the time that a call waits in all: for a permit, for a pair, and after a 429. The limiter rejects a longer
 * wait than about 2 s, so the call sleeps until the refresh and asks again.
 */
function patience({ clock, maxWaitMs, closing }: CallDeps, gone: AbortSignal): Wait {
  const over = AbortSignal.timeout(Math.ceil(maxWaitMs));
  const signal = AbortSignal.any([over, gone, closing]);
  let refreshAtMs = 0;
  return async (ask) => {
    while (true) {
      try {
        const waitMs = refreshAtMs - clock.monotonicMs();
        if (waitMs > 0) await clock.sleep(waitMs, signal);
        signal.throwIfAborted();
        return await ask(signal);
      } catch (thrown) {
        if (over.aborted && thrown === over.reason) {
          const message = `The call waited ${maxWaitMs / secondMs} s for the quota and was not sent. Try again after the reset.`;
          throw notNow(message, refreshAtMs - clock.monotonicMs());
        }
        if (!(thrown instanceof PlatformError) || thrown.code !== "PLATFORM_RATE_LIMITED") throw thrown;
        refreshAtMs = clock.monotonicMs() + Math.max(1, thrown.retryAfterMs ?? secondMs);
      }
    }
  };
}

const maxAheadBytes = 64 * 1_024;

/** A body in memory can be sent again, as can none (null); a larger one streams once. */
type Body = Buffer | null | AsyncGenerator<Buffer>;

/** @throws SimfleetError REQUEST_TIMEOUT; the connection's error if the client disconnects */
async function readAhead(request: IncomingMessage, { clock, times }: CallDeps): Promise<Body> {
  const { headers } = request;
  if (headers["transfer-encoding"] === undefined && Number(headers["content-length"] ?? 0) === 0) return null;
  // Read by hand: a loop that ends early would close the connection.
  const chunks = request[Symbol.asyncIterator]() as AsyncIterator<Buffer, undefined>;
  const next = async (idleMs: number): Promise<IteratorResult<Buffer, undefined>> => {
    const arrived = await inTime(clock, idleMs, chunks.next());
    if (arrived !== undefined) return arrived.value;
    throw new SimfleetError("REQUEST_TIMEOUT", `Nothing of the request body arrived for ${idleMs / secondMs} s`);
  };
  const ahead: Buffer[] = [];
  for (let bytes = 0; bytes <= maxAheadBytes;) {
    const { value } = await next(times.aheadIdleMs);
    if (value === undefined) return Buffer.concat(ahead);
    bytes += value.byteLength;
    ahead.push(value);
  }
  const rest = async function* (): AsyncGenerator<Buffer> {
    yield* ahead.splice(0);
    while (true) {
      const { value } = await next(times.restIdleMs);
      if (value === undefined) return;
      yield value;
    }
  };
  return rest();
}

/** The whole body of a small request, as text. @throws SimfleetError TOO_LARGE, and as `readAhead` */
export async function readBody(request: IncomingMessage, deps: CallDeps): Promise<string> {
  const body = await readAhead(request, deps);
  if (body === null) return "";
  if (Buffer.isBuffer(body)) return body.toString();
  throw new SimfleetError("TOO_LARGE", `The body has more than ${maxAheadBytes / 1_024} KiB`);
}
