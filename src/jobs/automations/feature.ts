/** Automations: tasks that events start. */
import { logIncidents } from "#app/app-feature.ts";
import type { Feature } from "#cli/feature.ts";
import { automationEndpoints } from "./endpoints.ts";

export const automations: Feature = {
  name: "automations",
  endpoints: (app, { clock }) => automationEndpoints({ automations: app.automations, clock }),
  work: async (app, { logger }) => {
    await app.consumeAutomations(logIncidents(logger, { job: "automations" }));
    return [];
  },
  commands: {
    automations: async (context) => (await import("./commands.ts")).automationsCommand(context),
  },
  effects: {
    "automations list": "reads",
    "automations pause": "changes",
    "automations resume": "changes",
    // With --dry-run it reads.
    "automations replay": "changes",
  },
};
