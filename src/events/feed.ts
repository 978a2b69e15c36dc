/**
 * The event feed: one Redis stream for all profiles, oldest first, bounded in number and in time. Scripts of other modules
 * write to it atomically with their changes (tell.lua); this class reads it from any point, and trims it.
 */
import type { Redis } from "ioredis";
import type { Clock } from "#core/time.ts";
import { decodeName, decodeValue } from "#fleet/field-text.ts";
import { textOf } from "#fleet/sim-fields.ts";
import type { Keys } from "#redis/keys.ts";
import { Script } from "#redis/script.ts";
import { type Event, type EventType, eventTypes } from "./event.ts";

/** Lua code that a script prepends to emit events. */
export const emitScriptPart = new URL("./tell.lua", import.meta.url);

const emitOnceScript = Script.load(emitScriptPart, new URL("./tell-once.lua", import.meta.url));
const markSeconds = 30 * 86_400;

/** How much of the past is kept; whichever bound is met first. */
export interface FeedBounds {
  readonly keepMs: number;
  /** Events at most, about. */
  readonly most: number;
}

/** Which events to read. */
export interface EventQuery {
  readonly types?: readonly EventType[] | undefined;
  /** Events about every account are among them. */
  readonly profile?: string | undefined;
  /** Only events whose fields have these values. */
  readonly fields?: Readonly<Record<string, string | undefined>> | undefined;
  /** Not before this instant. */
  readonly sinceMs?: number | undefined;
}

/** A stretch of the feed, oldest first. */
export interface FeedPage {
  readonly events: readonly Event[];
  /** Events of a later version are left out and counted here. */
  readonly lastId: string;
}

/** The id before that of every event. */
export const beforeAll = "0-0";

const readAtOnce = 1_000;
/** A page ends after this many events were scanned, matching or not. */
const mostScanned = 100_000;

export class Feed {
  readonly bounds: FeedBounds;
  readonly key: string;
  readonly #redis: Redis;
  readonly #keys: Keys;
  readonly #clock: Clock;

  constructor(options: { redis: Redis; keys: Keys; clock: Clock; bounds: FeedBounds }) {
    this.bounds = options.bounds;
    this.key = options.keys.events();
    this.#redis = options.redis;
    this.#keys = options.keys;
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
    for (let scanned = 0; scanned < mostScanned; scanned += readAtOnce) {
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

  /**
   * Events after one, oldest first.
   * @param id of the event before; `0-0` is before all
   * @returns `lastId`: the last scanned event, or `id` itself if there is none after it
   */
  async after(id: string, limit: number): Promise<FeedPage> {
    return pageOf(id, await this.#redis.xrange(this.key, `(${id}`, "+", "COUNT", limit));
  }

  /** Id of the newest event; `0-0` where there is none. */
  async head(): Promise<string> {
    return (await this.#redis.xrevrange(this.key, "+", "-", "COUNT", 1))[0]?.[0] ?? beforeAll;
  }

  /** Emits an event that belongs to no change in the store; a change emits its event in the same script. */
  async emit({ type, profile, fields }: Pick<Event, "type" | "profile" | "fields">): Promise<void> {
    const pairs = Object.entries(fields).flat();
    const { most } = this.bounds;
    await this.#redis.xadd(this.key, "MAXLEN", "~", most, "*", "type", type, "profile", profile, ...pairs);
  }

  /** Emits an event about something outside of the store; a repeat after a crash is dropped. @param mark identifies it for a month */
  async emitOnce(event: Pick<Event, "type" | "profile" | "fields">, mark: string): Promise<void> {
    const { type, profile, fields } = event;
    const args = [this.bounds.most, markSeconds, type, profile, ...Object.entries(fields).flat()];
    await emitOnceScript.run(this.#redis, [this.key, this.#keys.emittedOnce(mark)], args);
  }

  /** How many events are kept now. */
  size(): Promise<number> {
    return this.#redis.xlen(this.key);
  }

  /** Removes events beyond the limits. */
  async trim(): Promise<void> {
    const oldestMs = this.#clock.wallMs() - this.bounds.keepMs;
    await this.#redis.xtrim(this.key, "MINID", "~", String(Math.max(0, oldestMs)));
  }
}

/** @param entries as Redis gives them, oldest first */
export function pageOf(id: string, entries: readonly [string, string[]][]): FeedPage {
  const events = entries.map(decode).filter((event) => event !== undefined);
  return { events, lastId: entries.at(-1)?.[0] ?? id };
}

function isMeant(query: EventQuery, event: Event): boolean {
  if (query.types !== undefined && !query.types.includes(event.type)) return false;
  if (query.profile !== undefined && event.profile !== "" && event.profile !== query.profile) return false;
  const wanted = Object.entries(query.fields ?? {});
  return wanted.every(([name, value]) => value === undefined || event.fields[name] === value);
}

function decode([id, pairs]: [string, string[]]): Event | undefined {
  const fields: Record<string, string> = {};
  for (let at = 0; at + 1 < pairs.length; at += 2) fields[pairs[at] ?? ""] = pairs[at + 1] ?? "";
  const { type = "", profile = "", ...rest } = fields;
  const known = eventTypes.find((name) => name === type);
  if (known === undefined) return undefined;
  const event = { id, type: known, atMs: Number(id.split("-")[0]), profile, fields: rest };
  return known === "sim.changed" ? withValues(event) : event;
}

/** The scripts that emit changes write names and values as the inventory stores them. */
function withValues(event: Event): Event {
  const { field = "", before, after, ...rest } = event.fields;
  const values = {
    ...(before === undefined ? {} : { before: decodeValue(before) }),
    ...(after === undefined ? {} : { after: decodeValue(after) }),
  };
  const texts = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, textOf(value)]));
  return { ...event, fields: { ...rest, field: decodeName(field), ...texts }, values };
}
