/** An example of a feature: tickets, one at a time for each queue of the configuration. */
import { feature } from "#cli/feature.ts";
import { events } from "./events.ts";

export const tickets = feature({
  name: "tickets",
  data: { tickets: ["ticket"] },
  audit: "tickets",
  section: async () => (await import("./config.ts")).queues,
  events,
  open: async (kernel, _, configured) => (await import("./open.ts")).openTickets(kernel, configured),
  commands: {
    tickets: {
      group: "operate",
      summary: "Manage tickets, one at a time for each queue",
      load: async (context) => (await import("./commands.ts")).ticketsCommand(context),
    },
  },
});
