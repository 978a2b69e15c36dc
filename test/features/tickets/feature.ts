/** An example of a feature: tickets, one at a time for each queue of the configuration. */
import { randomUUID } from "node:crypto";
import { z } from "zod";
import { feature } from "#cli/feature.ts";
import { sectionOf } from "#config/config.ts";
import { section, setting } from "#config/setting.ts";
import { profileName, text } from "#config/value-types.ts";
import { every } from "#core/time.ts";
import { events } from "./events.ts";
import { closeAnswered, ticketStore } from "./record.ts";

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

export const tickets = feature({
  name: "tickets",
  data: { tickets: ["ticket"] },
  audit: "tickets",
  section: queues,
  events,
  open: (kernel) => {
    const store = ticketStore(kernel);
    const configured = sectionOf(kernel.config, queues);
    return {
      service: store,
      routes: async () =>
        (await import("./endpoints.ts")).ticketEndpoints({ store, queues: configured, newId: randomUUID }),
      work: () => {
        const closing = [...configured].filter(([, { closesAnswered }]) => closesAnswered);
        const close = (): void => void Promise.all(closing.map(([queue]) => closeAnswered(store, queue)));
        kernel.lifecycle.onStop("tickets", every(100, close));
      },
    };
  },
  commands: {
    tickets: {
      group: "operate",
      summary: "tickets, one at a time for each queue",
      load: async (context) => (await import("./commands.ts")).ticketsCommand(context),
    },
  },
});
