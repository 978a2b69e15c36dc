/** An example of a feature: tickets, one at a time for each queue of the configuration. */
import { randomUUID } from "node:crypto";
import { z } from "zod";
import type { Feature } from "#cli/feature.ts";
import { sectionOf } from "#config/config.ts";
import { section, setting } from "#config/setting.ts";
import { profileName, text } from "#config/value-types.ts";
import { every } from "#core/time.ts";
import { closeAnswered, ticketEvents, ticketStore } from "./record.ts";

const queues = {
  key: "tickets",
  schema: section(
    z.strictObject({
      about: setting(text("a sentence", /^.+$/), "What the queue is for."),
      closesAnswered: setting(z.boolean().default(false), "Whether a worker closes answered tickets."),
      profile: setting(profileName.default("default"), "Account of its tickets."),
    }),
    "Queues of tickets, by a name of your choice.",
  ),
};

export const tickets: Feature = {
  name: "tickets",
  section: queues,
  events: ticketEvents,
  endpoints: async (app) =>
    (await import("./endpoints.ts")).ticketEndpoints({
      store: ticketStore(app.storeDeps),
      queues: sectionOf(app.config, queues),
      newId: randomUUID,
    }),
  work: (app) => {
    const closing = [...sectionOf(app.config, queues)].filter(([, { closesAnswered }]) => closesAnswered);
    const store = ticketStore(app.storeDeps);
    const close = (): void => void Promise.all(closing.map(([queue]) => closeAnswered(store, queue)));
    app.onClose("tickets", every(100, close));
    return Promise.resolve([]);
  },
  commands: {
    tickets: {
      group: "operate",
      summary: "tickets, one at a time for each queue",
      load: async (context) => (await import("./commands.ts")).ticketsCommand(context),
    },
  },
  effects: {
    "tickets list": "reads",
    "tickets open": "changes",
    "tickets answer": "changes",
    "tickets close": "changes",
  },
};
