/** Makes one transition of a record's state machine and emits its events, in one script (move-record.lua). */
import type { Redis } from "ioredis";
import type { EventType } from "#events/event.ts";
import { type FeedBounds, emitScriptPart } from "#events/feed.ts";
import { Script } from "#redis/script.ts";

const script = Script.load(emitScriptPart, new URL("./move-record.lua", import.meta.url));

export interface Move {
  /** Keys of the record and of the event stream. */
  readonly keys: readonly [record: string, events: string];
  readonly profile: string;
  /** `field, value, …` that the record must have; an empty value stands for a missing field. */
  readonly guard: readonly string[];
  /** `field, value, …` */
  readonly set: readonly (string | number)[];
  /** Fields to remove. */
  readonly away: readonly string[];
  readonly events: readonly MoveEvent[];
}

/** An event that is emitted with the transition; a field without a value is left out. */
export interface MoveEvent {
  readonly type: EventType;
  readonly fields: Readonly<Record<string, string | number | undefined>>;
}

/** @returns whether the transition was made; false if the record no longer matches the guard */
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
