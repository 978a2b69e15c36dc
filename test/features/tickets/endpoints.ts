/** What answers the routes of tickets. */
import { type Endpoint, creating, endpoint } from "#contract/route.ts";
import { SimfleetError } from "#core/errors.ts";
import type { RecordStore } from "#engine/record.ts";
import { type TicketReport, answerTicket, closeTicket, listTickets, openTicket } from "./contract.ts";
import type { Ticket } from "./record.ts";

export function ticketEndpoints(deps: {
  store: RecordStore<Ticket>;
  /** The configured queues, with the profile of each. */
  queues: Readonly<Record<string, { readonly profile: string }>>;
  newId: () => string;
}): readonly Endpoint[] {
  const { store, queues, newId } = deps;
  const profileOf = (queue: string): string => {
    const found = queues[queue];
    if (found === undefined) throw new SimfleetError("NOT_FOUND", `There is no queue ${queue}`);
    return found.profile;
  };
  const current = async (queue: string): Promise<Ticket> => {
    profileOf(queue);
    const ticket = await store.get(queue);
    if (ticket === undefined) throw new SimfleetError("NOT_FOUND", `The queue ${queue} has no ticket`);
    return ticket;
  };
  const move = async (queue: string, from: Ticket["state"], to: Ticket["state"]): Promise<TicketReport> => {
    const ticket = await current(queue);
    if (ticket.state !== from)
      throw new SimfleetError("USAGE", `The ticket of ${queue} is ${ticket.state}, not ${from}`);
    const closed = { type: "ticket.closed" as const, fields: { queue, subject: ticket.subject } };
    await store.move(queue, ticket, { state: to }, { events: to === "closed" ? [closed] : [] });
    return reportOf(await current(queue));
  };
  return [
    endpoint(listTickets, async () => {
      const tickets = await Promise.all(Object.keys(queues).map((queue) => store.get(queue)));
      return { tickets: tickets.filter((ticket) => ticket !== undefined).map(reportOf) };
    }),
    creating(openTicket, ({ params: { queue }, body: { subject }, by }) => ({
      newId,
      create: async (ticketId) => {
        const profile = profileOf(queue);
        const head = { profile, ticketId, state: "open", subject, startedBy: by, startedAtMs: "now" } as const;
        return reportOf(await store.begin(queue, head));
      },
      pathOf: () => `/tickets/${queue}`,
    })),
    endpoint(answerTicket, ({ params }) => move(params.queue, "open", "answered")),
    endpoint(closeTicket, ({ params }) => move(params.queue, "answered", "closed")),
  ];
}

function reportOf({ ticketId, queue, state, subject, startedBy = "", startedAtMs }: Ticket): TicketReport {
  return { ticketId, queue, state, subject, openedBy: startedBy, openedAt: new Date(startedAtMs).toISOString() };
}
