/** Makes one transition of a record's state machine and emits its events, in one script (move-record.lua). */
import type { EventType } from "#events/event.ts";
import { type FeedBounds, emitScriptPart } from "#events/feed.ts";
import { Script } from "#redis/script.ts";
import type { Redis } from "ioredis";
import type { Keys } from "#redis/keys.ts";

export interface Move {
  readonly key: string;
  readonly profile: string;
  /** `field, value, …` that the record must have; an empty value stands for a missing field. */
  readonly guard: readonly string[];
  /** `field, value, …`; the value `now` of a field whose name ends with `Ms` stands for Redis's time. */
  readonly set: readonly (string | number)[];
  readonly remove: readonly string[];
  readonly events: readonly MoveEvent[];
  /** Further condition, besides the guard. */
  readonly condition?: MoveCondition | undefined;
}

/** Checked by a Lua part in the script of the move (see move-record.lua). */
export interface MoveCondition {
  readonly script: Script;
  readonly keys: readonly string[];
  readonly args: readonly string[];
}

/** An event that is emitted with the transition; a field without a value is left out. */
export interface MoveEvent {
  readonly type: EventType;
  readonly fields: Readonly<Record<string, string | number | undefined>>;
}

/** Loads the script with the parts of a condition. */
export function moveScript(...condition: readonly URL[]): Script {
  return Script.load(emitScriptPart, ...condition, new URL("./move-record.lua", import.meta.url));
}

const unconditional = moveScript(new URL("./unconditional.lua", import.meta.url));

/**
 * @returns the time of the move by Redis's clock, ms; `stale` if the record no longer matches the guard, or the reply
 *   of the condition: nothing was changed
 */
export async function makeMove({ redis, keys, bounds }: StoreDeps, move: Move): Promise<number | string> {
  const { key, profile, guard, set, remove, condition } = move;
  const events = move.events.flatMap(({ type, fields }) =>
    counted([type, ...Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [name, value]))]),
  );
  const args = [guard, condition?.args ?? [], set, remove].flatMap(counted);
  const { script = unconditional } = condition ?? {};
  const allKeys = [key, keys.events(), ...(condition?.keys ?? [])];
  return (await script.run(redis, allKeys, [profile, bounds.maxEvents, ...args, ...events])) as number | string;
}

function counted(items: readonly (string | number)[]): (string | number)[] {
  return [items.length, ...items];
}

// Dependencies of every store: Redis, the key builder, and the size limits of the event stream.

export interface StoreDeps {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly bounds: FeedBounds;
}
