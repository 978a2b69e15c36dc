/**
 * Open event streams (server-sent events). All streams of a process share one reader of the feed, the encoded events,
 * one heartbeat and one check for slow clients. A slow client holds one buffer at most; the next events are read when
 * it has taken that one. A client that takes nothing for too long is disconnected and resumes by the id of its last
 * event. A stream ends when the credential that opened it expires or is revoked.
 */
import type { FastifyReply, FastifyRequest } from "fastify";
import { SimfleetError } from "#core/errors.ts";
import { type Clock, every, secondMs } from "#core/time.ts";
import type { Event } from "#events/event.ts";
import type { FeedTail } from "#events/tail.ts";
import type { Logger } from "#telemetry/logger.ts";
import type { Access } from "../auth/access.ts";
import { type EventSelection, EventFrames } from "./event-frames.ts";

/** Which events a stream has. */
export interface StreamQuery extends EventSelection {
  /** Id of the last event that is known; undefined: only what comes from now on. */
  readonly fromId: string | undefined;
}

const heartbeatMs = 15 * secondMs;
/** A client that takes nothing for this long is disconnected. */
const patienceMs = 30 * secondMs;
const mostStreams = 5_000;
/** A timer takes no more than 2^31 ms; and the wall clock may be set meanwhile. */
const longestSleepMs = 60 * secondMs;
/** Shows the client that the stream is open. */
const comment = Buffer.from(":\n\n");

interface Stream {
  readonly raw: FastifyReply["raw"];
  readonly query: StreamQuery;
  readonly left: AbortSignal;
  /** The header of the request. */
  readonly authorization: string | undefined;
  /** Ends the stream because its credential has expired. */
  readonly expire: () => void;
  /** Whether it was disconnected for being slow. */
  isLate: boolean;
  /** Ends its waiting for the client. */
  resume: () => void;
}

export class EventStreams {
  readonly #tail: Pick<FeedTail, "follow">;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #access: Pick<Access, "principalOf"> | undefined;
  readonly #frames = new EventFrames();
  readonly #open = new Set<Stream>();
  /** Streams that wait for their client, and since when; the first has waited longest. */
  readonly #waiting = new Map<Stream, number>();
  #watch: AbortController | undefined;
  #stopBeating: (() => void) | undefined;

  /** @param deps `access` checks periodically whether the credential of a stream is still valid */
  constructor(deps: {
    tail: Pick<FeedTail, "follow">;
    clock: Clock;
    logger: Logger;
    access?: Pick<Access, "principalOf">;
  }) {
    this.#access = deps.access;
    this.#tail = deps.tail;
    this.#clock = deps.clock;
    this.#logger = deps.logger;
  }

  /** How many are open. */
  get count(): number {
    return this.#open.size;
  }

  /**
   * Answers with a stream, until the client leaves or is cut off.
   * @throws SimfleetError OVERLOADED when there are too many
   */
  async serve(request: FastifyRequest, reply: FastifyReply, query: StreamQuery): Promise<void> {
    if (this.#open.size >= mostStreams) {
      throw new SimfleetError(
        "OVERLOADED",
        `This worker has ${mostStreams} event streams open: use another worker, or retry later`,
      );
    }
    const stream = this.#begin(request, reply, query);
    try {
      await this.#sendOn(stream);
    } catch (thrown) {
      if (!stream.left.aborted)
        this.#logger.warn({ error: thrown, requestId: request.id }, "an event stream broke off");
    } finally {
      this.#end(stream);
    }
  }

  #begin({ headers: asked, principal }: FastifyRequest, reply: FastifyReply, query: StreamQuery): Stream {
    reply.hijack();
    const { raw } = reply;
    const left = new AbortController();
    const leave = (): void => {
      left.abort();
      stream.resume();
    };
    const stream: Stream = {
      raw,
      query,
      left: left.signal,
      authorization: asked.authorization,
      expire: leave,
      isLate: false,
      resume: () => undefined,
    };
    raw.on("close", leave);
    raw.on("error", leave);
    raw.on("drain", () => stream.resume());
    const headers = {
      ...reply.getHeaders(),
      "content-type": "text/event-stream; charset=utf-8",
      "x-accel-buffering": "no",
    };
    raw.writeHead(200, headers as Record<string, string>);
    raw.write(comment);
    this.#open.add(stream);
    this.#stopBeating ??= every(heartbeatMs, () => {
      this.#beat();
      this.recheck().catch(() => undefined); // the next one comes
    });
    if (principal?.expiresAtMs !== undefined) this.#expireAt(principal.expiresAtMs, stream).catch(() => undefined);
    return stream;
  }

  /** Ends the streams whose credential is no longer valid: its key or its role was revoked. */
  async recheck(): Promise<void> {
    const access = this.#access;
    if (access === undefined) return;
    const streams = Map.groupBy(this.#open, ({ authorization }) => authorization);
    for (const [authorization, ofOne] of streams) {
      const holds = await access.principalOf(authorization).then(
        () => true,
        // Unknown at the moment: check again later.
        (thrown: unknown) => thrown instanceof SimfleetError && thrown.code === "OVERLOADED",
      );
      if (!holds) for (const { expire } of ofOne) expire();
    }
  }

  /** Rejects when the stream has ended by then. */
  async #expireAt(atMs: number, { left, expire }: Stream): Promise<void> {
    for (let leftMs = atMs - this.#clock.wallMs(); leftMs > 0; leftMs = atMs - this.#clock.wallMs()) {
      await this.#clock.sleep(Math.min(leftMs, longestSleepMs), left);
    }
    expire();
  }

  #end(stream: Stream): void {
    this.#open.delete(stream);
    if (this.#open.size === 0) this.#stop();
    // A client that reads sees a clean end, and one that does not is not waited for.
    if (stream.isLate || stream.raw.writableNeedDrain) stream.raw.destroy();
    else stream.raw.end();
  }

  /** No variable holds the events while the client is waited for: a thousand that are slow would hold a thousand lists. */
  async #sendOn(stream: Stream): Promise<void> {
    const following = this.#tail.follow(stream.query.fromId, stream.left);
    let sent: "over" | "taken" | "waits" = "taken";
    while (sent !== "over") {
      sent = this.#send(stream, await following.next());
      if (sent === "waits") await this.#taken(stream);
    }
  }

  #send({ raw, query }: Stream, { done, value: events }: IteratorResult<readonly Event[]>): "over" | "taken" | "waits" {
    if (done === true) return "over";
    const bytes = this.#frames.of(events, query);
    return bytes === undefined || raw.write(bytes) ? "taken" : "waits";
  }

  /** Resolves when the client has taken what it was sent, or has left; throws when it does not take it. */
  async #taken(stream: Stream): Promise<void> {
    if (stream.left.aborted) return;
    const taken = new Promise<void>((resolve) => (stream.resume = resolve));
    this.#waiting.set(stream, this.#clock.monotonicMs());
    if (this.#watch === undefined) {
      this.#watch = new AbortController();
      // The end of the last stream ends the watch.
      this.#watchOver(this.#watch.signal).catch(() => undefined);
    }
    await taken;
    this.#waiting.delete(stream);
    if (stream.isLate) throw new Error("the client takes nothing");
  }

  /** Disconnects clients that are too slow, while there are any slow ones. */
  async #watchOver(stop: AbortSignal): Promise<void> {
    for (;;) {
      const [longest] = this.#waiting;
      if (longest === undefined) break;
      const [stream, sinceMs] = longest;
      const leftMs = sinceMs + patienceMs - this.#clock.monotonicMs();
      if (leftMs <= 0) {
        this.#waiting.delete(stream);
        stream.isLate = true;
        stream.resume();
      } else await this.#clock.sleep(leftMs, stop);
    }
    this.#watch = undefined;
  }

  #beat(): void {
    for (const { raw } of this.#open) {
      if (!raw.writableNeedDrain) raw.write(comment);
    }
  }

  #stop(): void {
    this.#watch?.abort();
    this.#watch = undefined;
    this.#stopBeating?.();
    this.#stopBeating = undefined;
  }
}
