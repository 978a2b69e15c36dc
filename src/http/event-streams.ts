/**
 * Open event streams (server-sent events). A slow client holds one buffer at most: the next events are read when it has taken
 * that one. A client that takes nothing for too long is disconnected and resumes by the ID of its last event. A stream ends
 * when the credential that opened it expires or is revoked.
 */
import { once } from "node:events";
import type { FastifyReply, FastifyRequest } from "fastify";
import { SimfleetError } from "#core/errors.ts";
import { type Clock, every, inTime, secondMs } from "#core/time.ts";
import { documentOfEvent } from "#events/contract.ts";
import type { Event, EventType } from "#events/event.ts";
import type { FeedTail } from "#events/tail.ts";
import type { Logger } from "#telemetry/logger.ts";
import type { Access } from "./auth/access.ts";

export interface StreamQuery {
  readonly types: readonly EventType[] | undefined;
  /** Events that concern every account are included. */
  readonly profile: string | undefined;
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

interface StreamDeps {
  readonly tail: Pick<FeedTail, "follow">;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Checks periodically whether the credential of a stream is still valid. */
  readonly access?: Pick<Access, "principalOf">;
}

export class EventStreams {
  readonly #deps: StreamDeps;
  readonly #open = new Set<Stream>();
  #stopBeating: (() => void) | undefined;

  constructor(deps: StreamDeps) {
    this.#deps = deps;
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
    if (this.#open.size >= maxStreams) {
      throw new SimfleetError(
        "OVERLOADED",
        `This worker has ${maxStreams} event streams open: use another worker, or retry later`,
      );
    }
    const stream = this.#begin(request, reply);
    const { raw, stop } = stream;
    let isLate = false;
    try {
      for await (const events of this.#deps.tail.follow(query.fromId, stop.signal)) {
        const frames = events.filter((event) => isMeant(query, event)).map(frameOf);
        if (frames.length === 0 || raw.write(frames.join("")) || stop.signal.aborted) continue;
        isLate = !(await this.#isTaken(stream));
        if (isLate) throw new Error("the client takes nothing");
      }
    } catch (thrown) {
      if (!stop.signal.aborted)
        this.#deps.logger.warn({ error: thrown, requestId: request.id }, "an event stream broke off");
    } finally {
      stop.abort();
      this.#open.delete(stream);
      if (this.#open.size === 0) this.#stopBeating?.();
      if (this.#open.size === 0) this.#stopBeating = undefined;
      // A client that reads sees a clean end, and one that does not is not waited for.
      if (isLate || raw.writableNeedDrain) raw.destroy();
      else raw.end();
    }
  }

  /** Ends the streams whose credential is no longer valid: its key or its role was revoked. */
  async recheck(): Promise<void> {
    const { access } = this.#deps;
    if (access === undefined) return;
    for (const [authorization, streams] of Map.groupBy(this.#open, (stream) => stream.authorization)) {
      const holds = await access.principalOf(authorization).then(
        () => true,
        // Unknown at the moment: check again later.
        (thrown: unknown) =>
          thrown instanceof SimfleetError && ["OVERLOADED", "STORE_UNAVAILABLE"].includes(thrown.code),
      );
      if (!holds) for (const { stop } of streams) stop.abort();
    }
  }

  #begin({ headers: asked, principal }: FastifyRequest, reply: FastifyReply): Stream {
    reply.hijack();
    const { raw } = reply;
    const stream: Stream = { raw, authorization: asked.authorization, stop: new AbortController() };
    raw.on("close", () => stream.stop.abort());
    raw.on("error", () => stream.stop.abort());
    const headers = {
      ...reply.getHeaders(),
      "content-type": "text/event-stream; charset=utf-8",
      "x-accel-buffering": "no",
    };
    raw.writeHead(200, headers as Record<string, string>);
    raw.write(comment);
    this.#open.add(stream);
    this.#stopBeating ??= every(heartbeatMs, () => {
      for (const open of this.#open) if (!open.raw.writableNeedDrain) open.raw.write(comment);
      this.recheck().catch(() => undefined); // the next one comes
    });
    if (principal?.expiresAtMs !== undefined) this.#expireAt(principal.expiresAtMs, stream).catch(() => undefined);
    return stream;
  }

  /** Rejects when the stream has ended by then. */
  async #expireAt(atMs: number, { stop }: Stream): Promise<void> {
    for (let leftMs = atMs - this.#deps.clock.wallMs(); leftMs > 0; leftMs = atMs - this.#deps.clock.wallMs()) {
      await this.#deps.clock.sleep(Math.min(leftMs, maxSleepMs), stop.signal);
    }
    stop.abort();
  }

  /** Whether the client has taken what it was sent, or has left, before it is too late. */
  async #isTaken({ raw, stop }: Stream): Promise<boolean> {
    const drained = once(raw, "drain", { signal: stop.signal }).catch(() => undefined);
    return (await inTime(this.#deps.clock, patienceMs, drained)) !== undefined;
  }
}

function frameOf(event: Event): string {
  return `id: ${event.id}\nevent: ${event.type}\ndata: ${JSON.stringify(documentOfEvent(event))}\n\n`;
}

function isMeant({ types, profile }: StreamQuery, event: Event): boolean {
  return (
    (types === undefined || types.includes(event.type)) &&
    (profile === undefined || event.profile === "" || event.profile === profile)
  );
}
