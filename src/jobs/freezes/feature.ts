/** Freezes: times without changes. */
import { feature } from "#cli/feature.ts";
import { runs } from "#jobs/runs/feature.ts";
import { events } from "./events.ts";

export const freezes = feature({
  name: "freezes",
  data: { freezes: ["freeze"] },
  audit: "freezes",
  section: async () => (await import("#config/sections/freezes.ts")).freezesSection,
  events,
  needs: { runs },
  open: (kernel, { runs: { service } }) => ({
    routes: async () => (await import("./open.ts")).freezeEndpoints(kernel, service),
  }),
  commands: {
    freeze: {
      group: "automate",
      summary: "Freeze all changes on the platform",
      load: async (context) => (await import("./commands.ts")).freezeCommand(context),
    },
  },
  stores: { "freeze on": "never", "freeze off": "never" },
});
