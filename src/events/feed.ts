/**
 * The event feed: one Redis stream for all profiles, oldest first, bounded in number and in time. Scripts of other rooms
 * write to it together with their changes (tell.lua); here it is read, from any point, and trimmed.
 */
import type { Redis } from "ioredis";
import type { Clock } from "#core/time.ts";
import type { Keys } from "#redis/keys.ts";
import { type Event, type EventType, eventTypes } from "./event.ts";

/** Lua that a script needs in front of its own to tell of what it does. */
export const tellScriptPart = new URL("./tell.lua", import.meta.url);

/** How much of the past is kept; whichever bound is met first. */
export interface FeedBounds {
  readonly keepMs: number;
  /** Events at most, about. */
  readonly most: number;
}

/** Which events to read. */
export interface EventQuery {
  readonly types?: readonly EventType[] | undefined;
  readonly profile?: string | undefined;
  /** Only events whose fields have these values. */
  readonly fields?: Readonly<Record<string, string | undefined>> | undefined;
  /** Not before this instant. */
  readonly sinceMs?: number | undefined;
}

const readAtOnce = 1_000;
/** A page ends after so many events were looked through, found or not. */
const lookedThroughAtMost = 100_000;

export class Feed {
  readonly bounds: FeedBounds;
  readonly key: string;
  readonly #redis: Redis;
  readonly #clock: Clock;

  constructor(options: { redis: Redis; keys: Keys; clock: Clock; bounds: FeedBounds }) {
    this.bounds = options.bounds;
    this.key = options.keys.events();
    this.#redis = options.redis;
    this.#clock = options.clock;
  }

  /**
   * Events, newest first.
   * @param ask `cursor` is what the call before returned; without it the newest come
   * @returns `nextCursor` null when there are no older ones
   */
  async newest(
    query: EventQuery,
    ask: { limit: number; cursor?: string | undefined },
  ): Promise<{ events: Event[]; nextCursor: string | null }> {
    const events: Event[] = [];
    const oldest = query.sinceMs === undefined ? "-" : String(Math.max(0, Math.floor(query.sinceMs)));
    let before = ask.cursor === undefined ? "+" : `(${ask.cursor}`;
    for (let lookedThrough = 0; lookedThrough < lookedThroughAtMost; lookedThrough += readAtOnce) {
      const entries = await this.#redis.xrevrange(this.key, before, oldest, "COUNT", readAtOnce);
      for (const entry of entries) {
        const event = decode(entry);
        if (event === undefined || !isMeant(query, event)) continue;
        events.push(event);
        if (events.length === ask.limit) return { events, nextCursor: event.id };
      }
      const last = entries.at(-1)?.[0];
      if (last === undefined || entries.length < readAtOnce) return { events, nextCursor: null };
      before = `(${last}`;
    }
    return { events, nextCursor: before.slice(1) };
  }

  /** Tells of something that changed nothing in the store; what changes something tells of it in the same script. */
  async tell({ type, profile, fields }: Pick<Event, "type" | "profile" | "fields">): Promise<void> {
    const pairs = Object.entries(fields).flat();
    const { most } = this.bounds;
    await this.#redis.xadd(this.key, "MAXLEN", "~", most, "*", "type", type, "profile", profile, ...pairs);
  }

  /** Lets go of what is older than the bounds allow. */
  async trim(): Promise<void> {
    const oldestMs = this.#clock.wallMs() - this.bounds.keepMs;
    await this.#redis.xtrim(this.key, "MINID", "~", String(Math.max(0, oldestMs)));
  }
}

function isMeant(query: EventQuery, event: Event): boolean {
  if (query.types !== undefined && !query.types.includes(event.type)) return false;
  if (query.profile !== undefined && event.profile !== query.profile) return false;
  const wanted = Object.entries(query.fields ?? {});
  return wanted.every(([name, value]) => value === undefined || event.fields[name] === value);
}

function decode([id, pairs]: [string, string[]]): Event | undefined {
  const fields: Record<string, string> = {};
  for (let at = 0; at + 1 < pairs.length; at += 2) fields[pairs[at] ?? ""] = pairs[at + 1] ?? "";
  const { type = "", profile = "", ...rest } = fields;
  const known = eventTypes.find((name) => name === type);
  if (known === undefined) return undefined;
  return { id, type: known, atMs: Number(id.split("-")[0]), profile, fields: rest };
}
