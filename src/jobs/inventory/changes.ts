/** Changes of the fleet, for display and JSON: the inventory's events, newest first. */
import type { Event } from "#events/event.ts";
import type { EventQuery, Feed } from "#events/feed.ts";
import type { FieldValue } from "#fleet/sim/field-value.ts";
import { type Change, type ChangeType, changeTypes } from "./contract.ts";

export interface ChangeQuery {
  readonly types?: readonly ChangeType[] | undefined;
  readonly sim?: string | undefined;
  readonly field?: string | undefined;
  readonly by?: "run" | "outside" | undefined;
  readonly sinceMs?: number | undefined;
}

export async function changesOf(
  feed: Feed,
  query: ChangeQuery & { readonly profile: string },
  page: { limit: number; cursor?: string | undefined },
): Promise<{ changes: Change[]; nextCursor: string | null }> {
  const { profile, types = changeTypes, sim, field, by, sinceMs } = query;
  const asked: EventQuery = {
    profile,
    types,
    sinceMs,
    fields: {
      sim,
      by,
      field,
    },
  };
  const { events, nextCursor } = await feed.newest(asked, page);
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
