/**
 * The record of a ticket, one per queue. Moves: open -> answered -> closed; after that, the next ticket of the queue may be
 * opened.
 */
import type { Problem } from "#engine/problem.ts";
import { type RecordKind, type RecordStore, recordStore } from "#engine/record.ts";
import type { StoreDeps } from "#engine/move-record.ts";

export interface Ticket {
  readonly profile: string;
  readonly queue: string;
  readonly ticketId: string;
  readonly state: "open" | "answered" | "closed";
  readonly subject: string;
  readonly startedBy?: string;
  readonly startedAtMs: number;
  readonly problem?: Problem | undefined;
}

const kind: RecordKind<Ticket> = {
  idField: "ticketId",
  stateField: "state",
  numbers: [],
  kept: [],
  defaults: (queue) => ({ queue }),
  entering: {},
  isOver: ({ state }) => state === "closed",
};

export function ticketStore(deps: StoreDeps): RecordStore<Ticket> {
  return recordStore(kind, deps, (queue) => deps.keys.of("ticket", queue));
}

/** Closes the ticket of a queue if it is answered. */
export async function closeAnswered(store: RecordStore<Ticket>, queue: string): Promise<void> {
  const ticket = await store.get(queue);
  if (ticket?.state !== "answered") return;
  const closed = { type: "ticket.closed" as const, fields: { queue, subject: ticket.subject } };
  await store.move(queue, ticket, { state: "closed" }, { events: [closed] });
}
