/** Events: what happened, as a list and as a stream. */
import type { Feature } from "#cli/feature.ts";

export const events: Feature = {
  name: "events",
  endpoints: async (app) => (await import("./endpoints.ts")).eventEndpoints(app.feed, (name) => app.profileOf(name)),
  commands: {
    events: {
      group: "Follow what happens:",
      summary: "event history and live feed",
      load: async (context) => (await import("./commands/events.ts")).eventsCommand(context),
    },
  },
  effects: {
    "events tail": "reads",
  },
};
