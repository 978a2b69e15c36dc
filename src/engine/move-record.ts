/** One move of a record with a state machine, and its events, in one script (move-record.lua). */
import type { Redis } from "ioredis";
import type { EventType } from "#events/event.ts";
import { type FeedBounds, emitScriptPart } from "#events/feed.ts";
import { Script } from "#redis/script.ts";

const script = Script.load(emitScriptPart, new URL("./move-record.lua", import.meta.url));

export interface Move {
  /** Of the record, and of the event feed. */
  readonly keys: readonly [record: string, events: string];
  readonly profile: string;
  /** What the record has to have, `field, value, …`; an empty value for a field that it has not. */
  readonly guard: readonly string[];
  /** `field, value, …` */
  readonly set: readonly (string | number)[];
  /** Fields to take away. */
  readonly away: readonly string[];
  readonly events: readonly MoveEvent[];
}

/** An event that is told with a move; a field without a value is left out. */
export interface MoveEvent {
  readonly type: EventType;
  readonly fields: Readonly<Record<string, string | number | undefined>>;
}

/** @returns whether it was made; else the record is elsewhere by now */
export async function makeMove(redis: Redis, bounds: FeedBounds, move: Move): Promise<boolean> {
  const { keys, profile, guard, set, away } = move;
  const events = move.events.flatMap(({ type, fields }) =>
    counted([type, ...Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [name, value]))]),
  );
  const args = [profile, bounds.most, ...counted(guard), ...counted(set), ...counted(away), ...events];
  return (await script.run(redis, keys, args)) === "moved";
}

function counted(items: readonly (string | number)[]): (string | number)[] {
  return [items.length, ...items];
}
