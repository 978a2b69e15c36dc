/** The routes of tickets. */
import { z } from "zod";
import { id, instant, listRoute } from "#contract/fields.ts";
import { getRoute, postRoute, route } from "#contract/route.ts";

const ticket = z.object({
  ticketId: z.string(),
  queue: z.string(),
  state: z.enum(["open", "answered", "closed"]),
  subject: z.string(),
  openedBy: z.string(),
  openedAt: instant,
});

export type TicketReport = Readonly<z.infer<typeof ticket>>;

const ofQueue = z.strictObject({ queue: id.meta({ example: "support" }) });
const shared = { params: ofQueue, answer: ticket } as const;

export const listTickets = listRoute("tickets", ticket, "List the current ticket of each queue");

export const showTicket = getRoute({
  ...shared,
  path: "/tickets/:queue",
  summary: "Show the current ticket of a queue",
});

export const openTicket = postRoute({
  ...shared,
  path: "/tickets/:queue",
  summary: "Open a ticket, or get the one that is open",
  did: "opened the ticket of",
  body: z.strictObject({ subject: z.string().min(1).max(100) }).meta({ example: { subject: "late" } }),
  status: 201,
});

export const answerTicket = postRoute({
  ...shared,
  path: "/tickets/:queue/answer",
  did: "answered the ticket of",
  summary: "Answer a ticket",
});

export const closeTicket = route({
  ...shared,
  method: "POST",
  path: "/tickets/:queue/close",
  role: "admin",
  did: "closed the ticket of",
  summary: "Close an answered ticket",
});
