/**
 * The event stream: one Redis stream for all profiles, oldest first, limited in number and age. Scripts of other
 * folders write to it together with their changes (emit.lua); this file reads it from any position, and trims it.
 */
import type { Redis } from "ioredis";
import type { Clock } from "#core/time.ts";
import { textOf } from "#fleet/sim/sim-fields.ts";
import { decodeName, decodeValue } from "#fleet/sim/field-text.ts";
import type { Keys } from "#redis/keys.ts";
import { Script } from "#redis/script.ts";
import type { Event, EventType } from "./event.ts";

/** Lua part that precedes a script that emits events. */
export const emitScriptPart = new URL("./emit.lua", import.meta.url);

const emitOnceScript = Script.load(emitScriptPart, new URL("./emit-once.lua", import.meta.url));
const markSeconds = 30 * 86_400;

/** How many events are kept; whichever limit is reached first applies. */
export interface FeedBounds {
  readonly keepMs: number;
  /** Approximate maximum number of events. */
  readonly maxEvents: number;
}

export interface EventQuery {
  readonly types?: readonly EventType[] | undefined;
  /** One or several. Events that concern every account are included. */
  readonly profile?: string | readonly string[] | undefined;
  /** Only events whose fields have these values. */
  readonly fields?: Readonly<Record<string, string | undefined>> | undefined;
  readonly sinceMs?: number | undefined;
}

/** A page of the stream, oldest first. */
export type FeedPage = ReturnType<typeof pageOf>;

const readAtOnce = 1_000;
/** A page ends after this many events were scanned, whether they match or not. */
const maxScanned = 100_000;

export class Feed {
  readonly bounds: FeedBounds;
  readonly key: string;
  readonly #deps: { readonly redis: Redis; readonly keys: Keys; readonly clock: Clock };

  constructor(deps: { redis: Redis; keys: Keys; clock: Clock; bounds: FeedBounds }) {
    this.bounds = deps.bounds;
    this.key = deps.keys.events();
    this.#deps = deps;
  }

  /**
   * Lists events, newest first.
   * @param page `cursor` comes from the previous page; without it the list starts with the newest
   * @returns `nextCursor` null if there are no older ones
   */
  async newest(
    query: EventQuery,
    page: { limit: number; cursor?: string | undefined },
  ): Promise<{ events: Event[]; nextCursor: string | null }> {
    const events: Event[] = [];
    const oldest = query.sinceMs === undefined ? "-" : String(Math.max(0, Math.floor(query.sinceMs)));
    let end = page.cursor === undefined ? "+" : olderThan(page.cursor);
    for (let scanned = 0; scanned < maxScanned; scanned += readAtOnce) {
      const entries = await this.#deps.redis.xrevrange(this.key, end, oldest, "COUNT", readAtOnce);
      for (const entry of entries) {
        const event = decode(entry);
        if (event === undefined || !isMeant(query, event)) continue;
        events.push(event);
        if (events.length === page.limit) return { events, nextCursor: event.id };
      }
      const last = entries.at(-1)?.[0];
      if (last === undefined || entries.length < readAtOnce) return { events, nextCursor: null };
      end = olderThan(last);
    }
    return { events, nextCursor: end.slice(1) };
  }

  /**
   * Lists events after a given one, oldest first.
   * @param id of the previous event; `0-0` is before all
   * @returns `lastId` of the last scanned entry, or `id` itself if there is none after it
   */
  async after(id: string, limit: number): Promise<FeedPage> {
    return pageOf(id, await this.#deps.redis.xrange(this.key, `(${id}`, "+", "COUNT", limit));
  }

  /** Id of the newest event; `0-0` if there is none. */
  async head(): Promise<string> {
    return (await this.#deps.redis.xrevrange(this.key, "+", "-", "COUNT", 1))[0]?.[0] ?? beforeAll;
  }

  /** Emits an event without a change in the store; the script that makes a change emits the event of that change. */
  async emit({ type, profile, fields }: Pick<Event, "type" | "profile" | "fields">): Promise<void> {
    const pairs = Object.entries(fields).flat();
    const { maxEvents } = this.bounds;
    await this.#deps.redis.xadd(this.key, "MAXLEN", "~", maxEvents, "*", "type", type, "profile", profile, ...pairs);
  }

  /** Emits an event of a change outside the store; repeatable after a crash. @param mark identifies it for a month */
  async emitOnce(event: Pick<Event, "type" | "profile" | "fields">, mark: string): Promise<void> {
    const { type, profile, fields } = event;
    const args = [this.bounds.maxEvents, markSeconds, type, profile, ...Object.entries(fields).flat()];
    await emitOnceScript.run(this.#deps.redis, [this.key, this.#deps.keys.emittedOnce(mark)], args);
  }

  size(): Promise<number> {
    return this.#deps.redis.xlen(this.key);
  }

  async trim(): Promise<void> {
    const oldestMs = this.#deps.clock.wallMs() - this.bounds.keepMs;
    await this.#deps.redis.xtrim(this.key, "MINID", "~", String(Math.max(0, oldestMs)));
  }
}

/**
 * @param entries as Redis returns them, oldest first
 * @returns `lastId`: of the last entry, which may be an event type of a later version that is left out of `events`
 */
export function pageOf(id: string, entries: readonly [string, string[]][]) {
  const events = entries.map(decode).filter((event) => event !== undefined);
  return { events, lastId: entries.at(-1)?.[0] ?? id };
}

export function isMeant(query: EventQuery, event: Event): boolean {
  if (query.types !== undefined && !query.types.includes(event.type)) return false;
  const profiles = query.profile === undefined || event.profile === "" ? [event.profile] : [query.profile].flat();
  if (!profiles.includes(event.profile)) return false;
  const wanted = Object.entries(query.fields ?? {});
  return wanted.every(([name, value]) => value === undefined || event.fields[name] === value);
}

function decode([id, pairs]: [string, string[]]): Event | undefined {
  const fields: Record<string, string> = {};
  for (let at = 0; at + 1 < pairs.length; at += 2) fields[pairs[at] ?? ""] = pairs[at + 1] ?? "";
  const { type = "", profile = "", ...rest } = fields;
  if (type === "") return undefined;
  const event = { id, type: type as EventType, atMs: Number(id.split("-")[0]), profile, fields: rest };
  return event.type === "sim.changed" ? withValues(event) : event;
}

/** Scripts write names and values in the inventory's encoding; this decodes them. */
function withValues(event: Event): Event {
  const { field = "", before, after, ...rest } = event.fields;
  const values = {
    ...(before === undefined ? {} : { before: decodeValue(before) }),
    ...(after === undefined ? {} : { after: decodeValue(after) }),
  };
  const texts = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, textOf(value)]));
  return { ...event, fields: { ...rest, field: decodeName(field), ...texts }, values };
}

// Ids of events, `milliseconds-number`, as assigned by Redis.

/** An id before that of every event. */
export const beforeAll = "0-0";

/** An id after those of all events before an instant, and before those of all others. */
export function idBefore(atMs: number): string {
  return atMs <= 0 ? beforeAll : `${Math.floor(atMs) - 1}-18446744073709551615`;
}

/** The id of an event, formatted so that texts sort in event order. */
export function placeOf(eventId: string): string {
  const [ms = "0", seq = "0"] = eventId.split("-");
  return `${ms.padStart(15, "0")}-${seq.padStart(20, "0")}`;
}

/** The end of a range of a stream before an entry. Redis does not look before `0-0`, which no entry has. */
export function olderThan(id: string): string {
  return /^0+-0+$/.test(id) ? "0-0" : `(${id}`;
}
