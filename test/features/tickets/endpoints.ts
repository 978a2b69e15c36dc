/** What answers the routes of tickets. */
import { type Endpoint, creating, endpoint } from "#contract/route.ts";
import { SimfleetError } from "#core/errors.ts";
import type { RecordStore } from "#engine/record.ts";
import * as routes from "./contract.ts";
import { type Ticket, closeTicket } from "./record.ts";

export function ticketEndpoints(deps: {
  store: RecordStore<Ticket>;
  /** The configured queues, with the profile of each. */
  queues: Readonly<Record<string, { readonly profile: string }>>;
  newId: () => string;
  /** Has a worker look at the tickets of a profile. */
  enqueue: (profile: string) => Promise<void>;
}): readonly Endpoint[] {
  const { store, queues, newId, enqueue } = deps;
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
  /** Moves the ticket of a queue. @throws SimfleetError USAGE if it is in another state */
  const move = async (
    queue: string,
    from: Ticket["state"],
    step: (ticket: Ticket) => Promise<unknown>,
  ): Promise<routes.TicketReport> => {
    const ticket = await current(queue);
    if (ticket.state !== from)
      throw new SimfleetError("USAGE", `The ticket of ${queue} is ${ticket.state}, not ${from}`);
    await step(ticket);
    return reportOf(await current(queue));
  };
  return [
    endpoint(routes.listTickets, async () => {
      const tickets = await Promise.all(Object.keys(queues).map((queue) => store.get(queue)));
      return { tickets: tickets.filter((ticket) => ticket !== undefined).map(reportOf), nextCursor: null };
    }),
    endpoint(routes.showTicket, async ({ params: { queue } }) => reportOf(await current(queue))),
    creating(routes.openTicket, ({ params: { queue }, body: { subject }, by }) => ({
      newId,
      create: async (ticketId) => {
        const profile = profileOf(queue);
        const head = { profile, ticketId, state: "open", subject, startedBy: by, startedAtMs: "now" } as const;
        return reportOf(await store.begin(queue, head));
      },
      show: async () => reportOf(await current(queue)),
      pathOf: () => `/tickets/${queue}`,
    })),
    endpoint(routes.answerTicket, async ({ params: { queue } }) => {
      const answered = await move(queue, "open", (ticket) => store.move(queue, ticket, { state: "answered" }));
      await enqueue(profileOf(queue));
      return answered;
    }),
    endpoint(routes.closeTicket, ({ params }) =>
      move(params.queue, "answered", (ticket) => closeTicket(store, ticket)),
    ),
  ];
}

function reportOf({ ticketId, queue, state, subject, startedBy = "", startedAtMs }: Ticket): routes.TicketReport {
  return { ticketId, queue, state, subject, openedBy: startedBy, openedAt: new Date(startedAtMs).toISOString() };
}
