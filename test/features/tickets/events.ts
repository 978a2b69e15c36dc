/** The events of tickets. */
import type { Events } from "#events/event.ts";

export const events = {
  "ticket.closed": {
    when: "An answered ticket was closed.",
    sentence: "The ticket of {queue} was closed[: {subject}]",
    fields: { queue: "its queue", subject: "its subject", cause: "the ticket", by: "who opened it" },
  },
} as const satisfies Events;

export const eventKinds = { ticket: "Tickets" } as const;

declare module "#events/event.ts" {
  interface EventTypes extends Readonly<Record<keyof typeof events, true>> {}
}
