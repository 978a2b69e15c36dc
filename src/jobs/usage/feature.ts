/** Usage: the bytes that SIMs have used, and thresholds for them. */
import { feature } from "#cli/feature.ts";
import { inventory } from "#jobs/inventory/feature.ts";
import { events } from "./events.ts";

export const usage = feature({
  name: "usage",
  audit: "syncs",
  section: async () => (await import("./config.ts")).usageSection,
  events,
  needs: { inventory },
  open: async (kernel, needs, section) =>
    (await import("./open.ts")).openUsage(kernel, { ...needs.inventory, ...section }),
});
