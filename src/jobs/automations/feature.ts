/** Automations: tasks that events start. */
import type { Feature } from "#cli/feature.ts";
import { automationEndpoints } from "./endpoints.ts";

export const automations: Feature = {
  name: "automations",
  endpoints: (app, { clock }) => automationEndpoints({ automations: app.automations, clock }),
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
