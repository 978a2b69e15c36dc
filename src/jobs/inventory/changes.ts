/** Changes of the fleet, for display and JSON: the inventory's events, newest first. */
import type { Event, EventType } from "#events/event.ts";
import type { EventQuery, Feed } from "#events/feed.ts";
import type { FieldValue } from "#fleet/field-text.ts";

export const changeTypes = ["sim.added", "sim.changed", "sim.gone", "sim.returned"] as const satisfies EventType[];
export type ChangeType = (typeof changeTypes)[number];

export interface ChangeQuery {
  readonly types?: readonly ChangeType[] | undefined;
  readonly sim?: string | undefined;
  readonly field?: string | undefined;
  readonly by?: "run" | "outside" | undefined;
  readonly sinceMs?: number | undefined;
}

export interface Change {
  readonly id: string;
  /** ISO 8601, UTC. */
  readonly at: string;
  readonly type: ChangeType;
  readonly sim: string;
  /** With `sim.changed`: the field and its values; null if there was or is none. */
  readonly field?: string;
  readonly before?: unknown;
  readonly after?: unknown;
  /** `run`: one of our runs did it. */
  readonly by: "run" | "outside";
  /** The run, or the sync that saw it. */
  readonly cause: string;
}

export async function changesOf(
  feed: Feed,
  query: ChangeQuery & { readonly profile: string },
  ask: { limit: number; cursor?: string | undefined },
): Promise<{ changes: Change[]; nextCursor: string | null }> {
  const { profile, types = changeTypes, sim, field, by, sinceMs } = query;
  const asked: EventQuery = {
    ...{ profile, types, sinceMs },
    fields: { sim, by, field },
  };
  const { events, nextCursor } = await feed.newest(asked, ask);
  return { changes: events.map(changeOf), nextCursor };
}

function changeOf({ id, type, atMs, fields, values = {} }: Event): Change {
  const { sim = "", field, by, cause = "" } = fields;
  return {
    id,
    at: new Date(atMs).toISOString(),
    type: type as ChangeType,
    sim,
    ...(field === undefined ? {} : { field, before: plainOf(values.before), after: plainOf(values.after) }),
    by: by === "run" ? "run" : "outside",
    cause,
  };
}

function plainOf(value: FieldValue | undefined): unknown {
  if (value === undefined) return null;
  return "text" in value ? value.text : JSON.parse(value.json);
}
