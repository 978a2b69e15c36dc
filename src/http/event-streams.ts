/**
 * Open event streams (server-sent events). A slow client holds one buffer at most: the next events are read when it has
 * taken that one. A client that takes nothing for too long is disconnected and resumes by the ID of its last event. A
 * stream ends when the credential that opened it expires or is revoked.
 */
import { once } from "node:events";
import type { FastifyReply, FastifyRequest } from "fastify";
import { SimfleetError } from "#core/errors.ts";
import { type Clock, every, inTime, secondMs } from "#core/time.ts";
import { documentOfEvent } from "#events/contract.ts";
import type { Event } from "#events/event.ts";
import { type EventQuery, isMeant } from "#events/feed.ts";
import type { FeedTail } from "#events/tail.ts";
import type { Kernel } from "#kernel/kernel.ts";
import type { Access } from "./auth/access.ts";

export interface StreamQuery extends Pick<EventQuery, "types" | "profile"> {
  /** ID of the last event that is known; undefined: only new ones. */
  readonly fromId: string | undefined;
}

const heartbeatMs = 15 * secondMs;
/** A client that takes nothing for this long is disconnected. */
const patienceMs = 30 * secondMs;
const maxStreams = 200;
/** A timer takes no more than 2^31 ms; and the wall clock may be set meanwhile. */
const maxSleepMs = 60 * secondMs;
/** Shows the client that the stream is open. */
const comment = ":\n\n";

interface Stream {
  readonly raw: FastifyReply["raw"];
  readonly authorization: string | undefined;
  readonly stop: AbortController;
}

interface StreamDeps extends Pick<Kernel, "clock" | "logger"> {
  readonly tail: Pick<FeedTail, "follow">;
  /** Checks periodically whether the credential of a stream is still valid. */
  readonly access?: Pick<Access, "principalOf">;
}

export type EventStreams = ReturnType<typeof eventStreams>;

export function eventStreams({ tail, clock, logger, access }: StreamDeps) {
  const open = new Set<Stream>();
  let stopBeating: (() => void) | undefined;

  /** Ends the streams whose credential is no longer valid: its key or its role was revoked. */
  const recheck = async (): Promise<void> => {
    for (const [authorization, streams] of Map.groupBy(open, (stream) => stream.authorization)) {
      if (!(await isValid(authorization, access))) for (const { stop } of streams) stop.abort();
    }
  };
  const beat = (): void => {
    for (const { raw } of open) if (!raw.writableNeedDrain) raw.write(comment);
    recheck().catch(() => undefined); // the next one comes
  };

  /**
   * Answers with a stream, until the client leaves or is cut off.
   * @throws SimfleetError OVERLOADED when there are too many
   */
  const serve = async (request: FastifyRequest, reply: FastifyReply, query: StreamQuery): Promise<void> => {
    if (open.size >= maxStreams) {
      throw new SimfleetError(
        "OVERLOADED",
        `This worker has ${maxStreams} event streams open: use another worker, or retry later`,
      );
    }
    const stream = begin(request, reply);
    const { raw, stop } = stream;
    open.add(stream);
    stopBeating ??= every(heartbeatMs, beat);
    const expiresAtMs = request.principal?.expiresAtMs;
    if (expiresAtMs !== undefined) abortAt(expiresAtMs, stop, clock).catch(() => undefined);
    let isLate = false;
    try {
      for await (const events of tail.follow(query.fromId, stop.signal)) {
        const frames = events.filter((event) => isMeant(query, event)).map(toFrame);
        if (frames.length === 0 || raw.write(frames.join("")) || stop.signal.aborted) continue;
        isLate = !(await isTaken(stream, clock));
        if (isLate) throw new Error("the client takes nothing");
      }
    } catch (thrown) {
      if (!stop.signal.aborted) logger.warn({ error: thrown, requestId: request.id }, "an event stream broke off");
    } finally {
      stop.abort();
      open.delete(stream);
      if (open.size === 0) {
        stopBeating?.();
        stopBeating = undefined;
      }
      // A client that reads sees a clean end, and one that does not is not waited for.
      if (isLate || raw.writableNeedDrain) raw.destroy();
      else raw.end();
    }
  };

  return { serve, recheck, count: () => open.size };
}

function begin({ headers }: FastifyRequest, reply: FastifyReply): Stream {
  reply.hijack();
  const { raw } = reply;
  const stop = new AbortController();
  raw.on("close", () => stop.abort());
  raw.on("error", () => stop.abort());
  const ofStream = { "content-type": "text/event-stream; charset=utf-8", "x-accel-buffering": "no" };
  raw.writeHead(200, { ...reply.getHeaders(), ...ofStream } as Record<string, string>);
  raw.write(comment);
  return { raw, authorization: headers.authorization, stop };
}

/** A credential that cannot be checked at the moment is checked again later. */
async function isValid(authorization: string | undefined, access: StreamDeps["access"]): Promise<boolean> {
  try {
    await access?.principalOf(authorization);
    return true;
  } catch (thrown) {
    return thrown instanceof SimfleetError && ["OVERLOADED", "STORE_UNAVAILABLE"].includes(thrown.code);
  }
}

/** Rejects when the stream has ended by then. */
async function abortAt(atMs: number, stop: AbortController, clock: Clock): Promise<void> {
  for (let leftMs = atMs - clock.wallMs(); leftMs > 0; leftMs = atMs - clock.wallMs()) {
    await clock.sleep(Math.min(leftMs, maxSleepMs), stop.signal);
  }
  stop.abort();
}

/** Whether the client has taken what it was sent, or has left, before it is too late. */
async function isTaken({ raw, stop }: Stream, clock: Clock): Promise<boolean> {
  const drained = once(raw, "drain", { signal: stop.signal }).catch(() => undefined);
  return (await inTime(clock, patienceMs, drained)) !== undefined;
}

function toFrame(event: Event): string {
  return `id: ${event.id}\nevent: ${event.type}\ndata: ${JSON.stringify(documentOfEvent(event))}\n\n`;
}
