/** Events: what happened, as a list and as a stream. */
import type { Feature } from "#cli/feature.ts";
import { eventEndpoints } from "./endpoints.ts";

export const events: Feature = {
  name: "events",
  endpoints: (app) => eventEndpoints(app.feed, (name) => app.profileOf(name)),
  commands: {
    events: async (context) => (await import("./commands/events.ts")).eventsCommand(context),
  },
  effects: {
    "events tail": "reads",
  },
};
