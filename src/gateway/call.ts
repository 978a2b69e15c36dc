/**
 * One call: its body is read ahead, so that a slow upload holds no permit; it waits for its turn, and is sent with a loan of
 * the pair. The permit comes last. A 429 and a 401 of the platform mean that nothing was carried out: the call is sent again
 * if its body is still there.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { PlatformClient } from "#api/client.ts";
import { PlatformError, SimfleetError } from "#core/errors.ts";
import { type Clock, inTime, secondMs } from "#core/time.ts";
import { type Freeze, assertUnfrozen } from "#fleet/freeze.ts";
import type { Urgency } from "#limiter/permit.ts";
import type { GatewayOperation } from "./api-groups.ts";
import { type Connections, forwardAnswer, sendRequest } from "./exchange.ts";
import { requestHeaders } from "./headers.ts";

export interface CallDeps {
  readonly client: Pick<PlatformClient, "attempt" | "lend">;
  readonly connections: Connections;
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
export interface CallTimes {
  /** While its body is read ahead. */
  readonly aheadIdleMs: number;
  /** In the rest of its body, while a permit is held. */
  readonly restIdleMs: number;
  /** While it reads the response. */
  readonly readerIdleMs: number;
}

export interface Call {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly operation: GatewayOperation;
  /** Path and query. */
  readonly path: string;
  readonly urgency: Urgency;
  /** Called with the time from the body that was read ahead to the first sending. */
  readonly onSent: (waitedMs: number) => void;
}

/** The caller has disconnected: there is nobody to answer. */
export class CallerGone extends Error {}

/**
 * Streams the response to the caller.
 * @throws CallerGone; SimfleetError and PlatformError while nothing of a response was sent to the caller
 */
export async function makeCall(call: Call, deps: CallDeps): Promise<void> {
  const { request, response, operation, path, urgency } = call;
  const { client, connections, clock, times } = deps;
  await refuseDuringFreeze(call, deps);
  const gone = goneSignal(response);
  const body = await readAhead(request, deps).catch((thrown: unknown) => {
    throw thrown instanceof SimfleetError ? thrown : new CallerGone("the caller disconnected while it sent the body");
  });
  const beganMs = clock.monotonicMs();
  let isFirst = true;
  const onSent = (): void => {
    if (isFirst) call.onSent(clock.monotonicMs() - beganMs);
    isFirst = false;
  };
  const passed = requestHeaders(request.rawHeaders, body.isWhole ? "whole" : "streamed");
  const forwarding = { response, gone, operation: operation.id, readerIdleMs: times.readerIdleMs };
  const patience = { clock, maxWaitMs: deps.maxWaitMs, signals: [gone, deps.closing] };
  await withPatience(patience, async (wait) => {
    for (let hasNewPair = false; ;) {
      const loan = await wait((signal) => client.lend(operation, signal));
      const attempt = await wait((signal) => client.attempt(operation, { urgency, signal }));
      await refuseDuringFreeze(call, deps).catch((thrown: unknown) => {
        attempt.failed(); // the freeze began while the call waited
        throw thrown;
      });
      const answer = await sendRequest({
        connections,
        operation: operation.id,
        address: loan.address,
        method: request.method ?? "GET",
        path,
        headers: [...passed, ...loan.headers],
        body: body.content,
        attempt,
        onSent,
        // The head is sent with the first bytes of the body; if there are none, the caller gets it all the same.
        onFailed: () => void (response.headersSent && response.flushHeaders()),
      });
      const { statusCode: status } = answer;
      const mayRenew = loan.end(status);
      // Without authentication, a 401 is about what the caller sent.
      const isPairRefused = status === 401 && operation.authenticated;
      if (status !== 429 && !isPairRefused) return forwardAnswer(answer, forwarding);
      answer.body.dump().catch(() => undefined);
      if (isPairRefused && (!mayRenew || hasNewPair)) throw refusedPair(operation);
      if (isPairRefused) hasNewPair = true;
      if (body.isWhole) continue; // after a 429 the bucket is frozen, so the next turn comes after the refresh
      throw isPairRefused
        ? notRepeatable("The gateway's token had expired", secondMs)
        : notRepeatable("The quota is used up", attempt.rateLimitedMs);
    }
  });
}

/** @throws SimfleetError CHANGES_FROZEN for a call that may change something: whatever does not only read */
async function refuseDuringFreeze({ request, operation }: Call, { clock, freezeOf }: CallDeps): Promise<void> {
  if (!operation.authenticated || ["GET", "HEAD", "OPTIONS"].includes(request.method ?? "")) return;
  assertUnfrozen(await freezeOf(), clock.wallMs());
}

function goneSignal(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  response.once("close", () => {
    if (!response.writableFinished) gone.abort(new CallerGone("the caller disconnected"));
  });
  return gone.signal;
}

function notRepeatable(cause: string, retryAfterMs: number): SimfleetError {
  const message = `${cause}, and the request body is too large for the gateway to send again. Nothing was changed: try again.`;
  return new SimfleetError("PLATFORM_RATE_LIMITED", message, { retryAfterMs: Math.max(secondMs, retryAfterMs) });
}

function refusedPair({ id }: GatewayOperation): PlatformError {
  const message = `${id}: the platform rejected the gateway's credentials. Check them with: simfleet check`;
  return new PlatformError("PLATFORM_UNAUTHORIZED", message, { operation: id, status: 401 });
}

/** Asks again after each refresh. @throws whatever `ask` throws otherwise; the reason why the wait is over */
type Wait = <T>(ask: (signal: AbortSignal) => Promise<T>) => Promise<T>;

interface Patience {
  readonly clock: Clock;
  readonly maxWaitMs: number;
  /** Signals that also end the wait. */
  readonly signals: readonly AbortSignal[];
}

/**
 * Limits the time that a call waits in all: for a permit, for a pair, and after a 429. The limiter rejects a longer wait than
 * about 2 s, so the call sleeps until the refresh and asks again.
 */
async function withPatience(
  { clock, maxWaitMs, signals }: Patience,
  use: (wait: Wait) => Promise<void>,
): Promise<void> {
  const over = new AbortController();
  const done = new AbortController();
  const signal = AbortSignal.any([over.signal, ...signals]);
  let refreshAtMs = 0;
  const refuse = (): void => {
    const retryAfterMs = Math.max(secondMs, refreshAtMs - clock.monotonicMs());
    const message = `The call waited ${maxWaitMs / secondMs} s for the quota and was not sent. Try again after the reset.`;
    over.abort(new SimfleetError("PLATFORM_RATE_LIMITED", message, { retryAfterMs }));
  };
  clock.sleep(maxWaitMs, done.signal).then(refuse, () => undefined);
  const wait: Wait = async (ask) => {
    while (true) {
      signal.throwIfAborted();
      try {
        return await ask(signal);
      } catch (thrown) {
        if (!(thrown instanceof PlatformError) || thrown.code !== "PLATFORM_RATE_LIMITED") throw thrown;
        const waitMs = Math.max(1, thrown.retryAfterMs ?? secondMs);
        refreshAtMs = clock.monotonicMs() + waitMs;
        await clock.sleep(waitMs, signal);
      }
    }
  };
  try {
    await use(wait);
  } finally {
    done.abort();
  }
}

const maxAheadBytes = 64 * 1_024;

interface RequestBody {
  /** Whether the body is in memory and can be sent again. Otherwise its rest streams once. */
  readonly isWhole: boolean;
  readonly content: Buffer | AsyncIterable<Buffer> | null;
}

/** @throws SimfleetError REQUEST_TIMEOUT; the connection's error if the client disconnects */
async function readAhead(request: IncomingMessage, { clock, times }: CallDeps): Promise<RequestBody> {
  const { headers } = request;
  if (headers["transfer-encoding"] === undefined && Number(headers["content-length"] ?? 0) === 0) {
    return { isWhole: true, content: null };
  }
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
    if (value === undefined) return { isWhole: true, content: Buffer.concat(ahead) };
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
  return { isWhole: false, content: rest() };
}

/** The whole body of a small request, as text. @throws SimfleetError TOO_LARGE, and as `readAhead` */
export async function readBody(request: IncomingMessage, deps: CallDeps): Promise<string> {
  const { content } = await readAhead(request, deps);
  if (content === null) return "";
  if (Buffer.isBuffer(content)) return content.toString();
  throw new SimfleetError("TOO_LARGE", `The body has more than ${maxAheadBytes / 1_024} KiB`);
}
