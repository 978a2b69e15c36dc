/** Events: what happened, as a list and as a stream. */
import type { Feature } from "#cli/feature.ts";
import { messageOf } from "#core/errors.ts";
import { every, minuteMs } from "#core/time.ts";

const eventsSummary = "event history and live feed";

const trimEveryMs = 60 * minuteMs;

export const events: Feature = {
  name: "events",
  endpoints: async (app) => (await import("./endpoints.ts")).eventEndpoints(app.feed, (name) => app.profileOf(name)),
  work: (app, { logger }) => {
    const trim = (): Promise<unknown> =>
      app.feed.trim().catch((thrown: unknown) => logger.warn(`old events could not be dropped: ${messageOf(thrown)}`));
    app.onClose(
      "trimming of events",
      every(trimEveryMs, () => void trim()),
    );
    return Promise.resolve([]);
  },
  commands: {
    events: {
      group: "follow",
      summary: eventsSummary,
      load: async (context) => (await import("./commands/events.ts")).eventsCommand(context),
    },
  },
  effects: {
    "events tail": "reads",
  },
};
