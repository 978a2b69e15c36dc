/**
 * Open event streams (server-sent events). All of a process share one reader of the feed, the text of an event and one
 * heartbeat. A client that does not take what it is sent is cut off after a while and resumes by the id of the last event
 * that it has; nothing piles up for it here.
 */
import { once as onceTold } from "node:events";
import type { FastifyReply, FastifyRequest } from "fastify";
import { SimfleetError } from "#core/errors.ts";
import { type Clock, every, secondMs } from "#core/time.ts";
import type { Event, EventType } from "#events/event.ts";
import type { FeedTail } from "#events/tail.ts";
import { documentOfEvent } from "#runs/webhook-report.ts";
import type { Logger } from "#telemetry/logger.ts";

/** Which events a stream has. */
export interface StreamQuery {
  readonly types: readonly EventType[] | undefined;
  readonly profile: string | undefined;
  /** Id of the last event that is known; undefined: only what comes from now on. */
  readonly fromId: string | undefined;
}

const heartbeatMs = 15 * secondMs;
/** A client that takes nothing for so long is cut off. */
const patienceMs = 30 * secondMs;
const mostStreams = 5_000;

export class EventStreams {
  readonly #tail: Pick<FeedTail, "follow">;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #open = new Set<FastifyReply["raw"]>();
  readonly #frames = new WeakMap<Event, string>();
  #stopBeating: (() => void) | undefined;

  constructor(parts: { tail: Pick<FeedTail, "follow">; clock: Clock; logger: Logger }) {
    this.#tail = parts.tail;
    this.#clock = parts.clock;
    this.#logger = parts.logger;
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
      throw new SimfleetError("OVERLOADED", `This worker has ${mostStreams} event streams open: ask another, or later`);
    }
    reply.hijack();
    const { raw } = reply;
    const left = new AbortController();
    raw.on("close", () => left.abort());
    raw.on("error", () => left.abort());
    const headers = {
      ...reply.getHeaders(),
      "content-type": "text/event-stream; charset=utf-8",
      "x-accel-buffering": "no",
    };
    raw.writeHead(200, headers as Record<string, string>);
    raw.write(":\n\n"); // the client sees that it is open
    this.#open.add(raw);
    this.#stopBeating ??= every(heartbeatMs, () => this.#beat());
    try {
      for await (const events of this.#tail.follow(query.fromId, left.signal)) {
        const text = events.filter((event) => isMeant(query, event)).map((event) => this.#frameOf(event));
        if (text.length > 0 && !raw.write(text.join(""))) await this.#drained(raw, left.signal);
      }
    } catch (thrown) {
      if (!left.signal.aborted)
        this.#logger.warn({ error: thrown, requestId: request.id }, "an event stream broke off");
    } finally {
      this.#open.delete(raw);
      if (this.#open.size === 0) this.#stop();
      raw.destroy();
    }
  }

  /** Resolves when the client has taken what it was sent; throws when it does not, or leaves. */
  async #drained(raw: FastifyReply["raw"], left: AbortSignal): Promise<void> {
    const over = new AbortController();
    const signal = AbortSignal.any([left, over.signal]);
    const late = this.#clock.sleep(patienceMs, over.signal).then(() => {
      throw new Error("the client takes nothing");
    });
    late.catch(() => undefined);
    try {
      await Promise.race([onceTold(raw, "drain", { signal }), late]);
    } finally {
      over.abort();
    }
  }

  #frameOf(event: Event): string {
    let frame = this.#frames.get(event);
    if (frame === undefined) {
      const { id, type } = event;
      frame = `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify(documentOfEvent(event))}\n\n`;
      this.#frames.set(event, frame);
    }
    return frame;
  }

  #beat(): void {
    for (const raw of this.#open) {
      if (!raw.writableNeedDrain) raw.write(":\n\n");
    }
  }

  #stop(): void {
    this.#stopBeating?.();
    this.#stopBeating = undefined;
  }
}

function isMeant({ types, profile }: StreamQuery, event: Event): boolean {
  return (
    (types === undefined || types.includes(event.type)) &&
    (profile === undefined || event.profile === "" || event.profile === profile)
  );
}
