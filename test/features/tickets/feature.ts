/** An example of a feature: tickets, one at a time for each queue of the configuration. */
import { randomUUID } from "node:crypto";
import { z } from "zod";
import type { Feature } from "#cli/feature.ts";
import { sectionOf } from "#config/config.ts";
import { text } from "#config/value-types.ts";
import { defaulted, given } from "#config/section.ts";
import { ticketEndpoints } from "./endpoints.ts";
import { ticketEvents, ticketStore } from "./record.ts";

const section = {
  path: "tickets",
  schema: z.strictObject({
    about: given(text("a sentence", /^.+$/), "What the queue is for."),
    profile: defaulted(text("the name of a profile", /^[A-Za-z0-9_-]+$/), "Account of its tickets.", "default"),
  }),
  about: "Queues of tickets, by a name of your choice.",
} as const;

export const tickets: Feature = {
  name: "tickets",
  section,
  events: ticketEvents,
  endpoints: (app) =>
    ticketEndpoints({ store: ticketStore(app.storeDeps), queues: sectionOf(app.config, section), newId: randomUUID }),
  commands: { tickets: async (context) => (await import("./commands.ts")).ticketsCommand(context) },
  effects: {
    "tickets list": "reads",
    "tickets open": "changes",
    "tickets answer": "changes",
    "tickets close": "changes",
  },
};
