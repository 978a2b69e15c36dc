/** Automations: tasks that events start. */
import { logIncidents } from "#app/feature.ts";
import type { Feature } from "#cli/feature.ts";

const automationsSummary = "event-triggered tasks";

export const automations: Feature = {
  name: "automations",
  endpoints: async (app, { clock }) =>
    (await import("./endpoints.ts")).automationEndpoints({ automations: app.automations, clock }),
  work: async (app, { logger }) => {
    await app.consumeAutomations(logIncidents(logger, { job: "automations" }));
    return [];
  },
  commands: {
    automations: {
      group: "automate",
      summary: automationsSummary,
      load: async (context) => (await import("./commands.ts")).automationsCommand(context),
    },
  },
  effects: {
    "automations list": "reads",
    "automations pause": "changes",
    "automations resume": "changes",
    // With --dry-run it reads.
    "automations replay": "changes",
  },
};
