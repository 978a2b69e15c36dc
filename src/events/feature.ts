/** Events: what happened, as a list and as a stream. */
import { messageOf } from "#core/errors.ts";
import { every, minuteMs } from "#core/time.ts";
import { feature } from "#cli/feature.ts";

const trimEveryMs = 60 * minuteMs;

export const events = feature({
  name: "events",
  open: ({ feed, profileOf, limiter, logger, lifecycle }) => ({
    routes: async () =>
      (await import("./endpoints.ts")).eventEndpoints(feed, profileOf, (sinceMs) => limiter.callsSince(sinceMs)),
    work: () => {
      const stop = every(trimEveryMs, () => {
        feed.trim().catch((thrown: unknown) => logger.warn(`old events could not be dropped: ${messageOf(thrown)}`));
      });
      lifecycle.onStop("trimming of events", stop);
    },
    readings: async () => [{ metric: "events", value: await feed.size(), labels: {} }],
  }),
  commands: {
    events: {
      group: "follow",
      summary: "List and follow events",
      load: async (context) => (await import("./commands/tail.ts")).eventsCommand(context),
    },
    summary: {
      group: "follow",
      summary: "Summarize events and problems since a time",
      load: async (context) => (await import("./commands/summary.ts")).summaryCommand(context),
    },
  },
  reads: ["events", "summary"],
});
