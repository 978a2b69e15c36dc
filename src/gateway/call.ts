/**
 * One call: its body is read ahead, it waits for its turn, and is sent with a loan of the pair. The permit comes last. A 429
 * and a 401 of the platform mean that nothing was carried out: the call is sent again if its body is still there.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { PlatformClient } from "#api/client.ts";
import { PlatformError, SimfleetError } from "#core/errors.ts";
import { type Clock, minuteMs, secondMs } from "#core/time.ts";
import type { Freeze } from "#fleet/freeze.ts";
import type { Urgency } from "#limiter/permit.ts";
import { AnswerStream } from "./answer-stream.ts";
import type { GatewayOperation } from "./api-groups.ts";
import { requestHeaders } from "./headers.ts";
import type { PlatformConnections } from "./platform-connections.ts";
import { readAhead, type RequestBody } from "./request-body.ts";
import { Turn } from "./turn.ts";

export interface CallDeps {
  readonly client: Pick<PlatformClient, "attempt" | "lend">;
  readonly connections: PlatformConnections;
  readonly clock: Clock;
  readonly maxWaitMs: number;
  /** The current freeze of changes, if there is one. */
  readonly freezeOf: () => Promise<Freeze | undefined>;
  /** Aborts when the gateway closes. */
  readonly closing: AbortSignal;
  readonly times: { readonly aheadIdleMs: number; readonly restIdleMs: number; readonly readerIdleMs: number };
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
 * Streams the answer to the caller.
 * @throws CallerGone; SimfleetError and PlatformError while nothing of an answer was sent to the caller
 */
export async function makeCall(call: Call, deps: CallDeps): Promise<void> {
  await refuseDuringFreeze(call, deps);
  const gone = goneSignal(call.response);
  const body = await readAhead(call.request, { clock: deps.clock, ...deps.times }).catch((thrown: unknown) => {
    throw thrown instanceof SimfleetError ? thrown : new CallerGone("the caller disconnected while it sent the body");
  });
  const { clock, maxWaitMs, closing } = deps;
  const turn = new Turn({ clock, maxWaitMs, signals: [gone, closing] });
  const beganMs = clock.monotonicMs();
  let isFirst = true;
  const onSent = (): void => {
    if (isFirst) call.onSent(clock.monotonicMs() - beganMs);
    isFirst = false;
  };
  try {
    await sendUntilAnswered({ ...call, onSent }, { ...deps, body, turn });
  } finally {
    turn.end();
  }
}

type Sending = Omit<Call, "onSent"> & { readonly onSent: () => void };
type SendDeps = CallDeps & { readonly body: RequestBody; readonly turn: Turn };

async function sendUntilAnswered(call: Sending, deps: SendDeps): Promise<void> {
  const { isWhole } = deps.body;
  for (let hasNewPair = false; ;) {
    const { status, mayRenew, retryAfterMs } = await send(call, deps);
    if (call.response.headersSent || call.response.destroyed) return;
    if (status === 429) {
      // The bucket is frozen now, so the next turn comes after the refresh.
      if (!isWhole) throw notRepeatable("The quota is used up", retryAfterMs);
      continue;
    }
    if (status !== 401) throw notForwarded(call.operation, status);
    if (!mayRenew || hasNewPair) throw refusedPair(call.operation);
    if (!isWhole) throw notRepeatable("The gateway's token had expired", secondMs);
    hasNewPair = true;
  }
}

interface Sent {
  readonly status: number;
  /** After a 401: whether the call can be sent again with another pair. */
  readonly mayRenew: boolean;
  readonly retryAfterMs: number;
}

async function send(call: Sending, deps: SendDeps): Promise<Sent> {
  const { client, connections, clock, body, turn, times } = deps;
  const { request, response, operation, path, urgency, onSent } = call;
  const loan = await turn.wait((signal) => client.lend(operation, signal));
  const attempt = await turn.wait((signal) => client.attempt(operation, { urgency, signal }));
  try {
    await refuseDuringFreeze(call, deps); // it may have begun while the call waited
  } catch (thrown) {
    attempt.failed();
    throw thrown;
  }
  const headers = [...requestHeaders(request.rawHeaders, body.isWhole ? "whole" : "streamed"), ...loan.headers];
  const { address } = loan;
  // Without authentication, a 401 is about what the caller sent.
  const dropped = new Set(operation.authenticated ? [401, 429] : [429]);
  const { readerIdleMs } = times;
  const answer = new AnswerStream({
    clock,
    response,
    attempt,
    operation: operation.id,
    address,
    dropped,
    onSent,
    readerIdleMs,
  });
  connections.send({ address, method: request.method ?? "GET", path, headers, body: body.send() }, answer);
  const status = await answer.ended;
  return { status, mayRenew: loan.end(status), retryAfterMs: attempt.throttledMs };
}

/** @throws SimfleetError CHANGES_FROZEN for a call that may change something: whatever does not only read */
async function refuseDuringFreeze(
  { request, operation }: Pick<Call, "request" | "operation">,
  { clock, freezeOf }: Pick<CallDeps, "clock" | "freezeOf">,
): Promise<void> {
  if (!operation.authenticated || ["GET", "HEAD", "OPTIONS"].includes(request.method ?? "")) return;
  const freeze = await freezeOf();
  if (freeze === undefined) return;
  const { reason, untilMs } = freeze;
  const leftMs = untilMs === undefined ? minuteMs : Math.max(secondMs, untilMs - clock.wallMs());
  const message = `Changes are frozen: ${reason}. The call was not sent; try again after the freeze.`;
  throw new SimfleetError("CHANGES_FROZEN", message, { retryAfterMs: leftMs });
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
  return new SimfleetError("PLATFORM_THROTTLED", message, { retryAfterMs: Math.max(secondMs, retryAfterMs) });
}

/** An error that broke off, or a head that cannot be written as HTTP. */
function notForwarded({ id }: GatewayOperation, status: number): PlatformError {
  const message = `${id}: the platform responded with ${status}, but the response was not complete or is not valid HTTP. The call may have taken effect.`;
  return new PlatformError("PLATFORM_RESPONSE_INVALID", message, { operation: id, status, mayHaveApplied: true });
}

function refusedPair({ id }: GatewayOperation): PlatformError {
  const message = `${id}: the platform rejected the gateway's credentials. Check them with: simfleet check`;
  return new PlatformError("PLATFORM_UNAUTHORIZED", message, { operation: id, status: 401 });
}
