/**
 * The record of a ticket, one per queue. Moves: open -> answered -> closed; after that, the next ticket of the queue
 * may be opened.
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

export async function closeTicket(store: RecordStore<Ticket>, ticket: Ticket): Promise<void> {
  const { queue, subject } = ticket;
  await store.move(
    queue,
    ticket,
    { state: "closed" },
    { events: [{ type: "ticket.closed", fields: { queue, subject } }] },
  );
}
