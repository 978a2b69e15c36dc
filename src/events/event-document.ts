/** An event as lists, streams and deliveries show it. */
import type { EventDocument } from "./contract.ts";
import type { Event } from "./event.ts";

export function documentOfEvent({ id, type, atMs, profile, fields }: Event): EventDocument {
  return { id, type, at: new Date(atMs).toISOString(), profile, fields };
}
