/**
 * The body of a request. It is read ahead before a permit is asked for, so that a slow upload holds none; what was read
 * whole can be sent again. The rest of a larger body streams, and its sender may not pause for long.
 */
import type { IncomingMessage } from "node:http";
import { SimfleetError } from "#core/errors.ts";
import { type Clock, secondMs } from "#core/time.ts";

const maxAhead = 64 * 1_024;

export interface BodyTimes {
  readonly clock: Clock;
  /** Longest pause while it is read ahead. */
  readonly aheadIdleMs: number;
  /** Longest pause of the rest, while a permit is held. */
  readonly restIdleMs: number;
}

export interface RequestBody {
  readonly isWhole: boolean;
  /** For one sending if it is not whole. */
  send(): Buffer | AsyncIterable<Buffer> | null;
}

const none: RequestBody = { isWhole: true, send: () => null };

/** @throws SimfleetError REQUEST_TIMEOUT; the connection's error if the client disconnects */
export async function readAhead(request: IncomingMessage, times: BodyTimes): Promise<RequestBody> {
  const { headers } = request;
  if (headers["transfer-encoding"] === undefined && Number(headers["content-length"] ?? 0) === 0) return none;
  // Read by hand: a loop that ends early would close the connection.
  const chunks = request[Symbol.asyncIterator]() as AsyncIterator<Buffer, undefined>;
  const ahead: Buffer[] = [];
  for (let bytes = 0; bytes <= maxAhead;) {
    const next = await inTime(chunks.next(), times.aheadIdleMs, times.clock);
    if (next.done === true) {
      const whole = Buffer.concat(ahead);
      return { isWhole: true, send: () => whole };
    }
    bytes += next.value.byteLength;
    ahead.push(next.value);
  }
  return { isWhole: false, send: () => rest(ahead, chunks, times) };
}

async function* rest(
  ahead: Buffer[],
  chunks: AsyncIterator<Buffer, undefined>,
  times: BodyTimes,
): AsyncGenerator<Buffer> {
  yield* ahead.splice(0);
  while (true) {
    const next = await inTime(chunks.next(), times.restIdleMs, times.clock);
    if (next.done === true) return;
    yield next.value;
  }
}

async function inTime<T>(wanted: Promise<T>, idleMs: number, clock: Clock): Promise<T> {
  const arrived = new AbortController();
  const late = clock.sleep(idleMs, arrived.signal).then((): never => {
    throw new SimfleetError("REQUEST_TIMEOUT", `Nothing of the request body arrived for ${idleMs / secondMs} s`);
  });
  try {
    return await Promise.race([wanted, late]);
  } finally {
    arrived.abort();
    late.catch(() => undefined);
    wanted.catch(() => undefined);
  }
}
