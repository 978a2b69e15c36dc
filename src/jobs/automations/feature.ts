/** Automations: tasks that events start. */
import { feature } from "#cli/feature.ts";
import { events } from "./events.ts";
import type { Event } from "#events/event.ts";
import { logIncidents } from "#kernel/feature.ts";
import { inventory } from "#jobs/inventory/feature.ts";
import { tasks } from "#jobs/tasks/feature.ts";
import { runs } from "#jobs/runs/feature.ts";

/** A sync emits thousands of events at once: they become one run. */
const eventsAtOnce = 5_000;

export const automations = feature({
  name: "automations",
  data: { automations: ["automation", "automation-chain"] },
  audit: "automations",
  section: async () => (await import("./config.ts")).automationsSection,
  events,
  needs: { inventory, tasks, runs },
  checks: async (configured) => {
    const { filesOf } = await import("#jobs/tasks/config.ts");
    return configured.flatMap(({ name, action }) => filesOf(`automation ${name}`, action));
  },
  open: async (kernel, needs, configured) => {
    const { automationService, actOn } = await import("./service.ts");
    const { automationLog } = await import("./record.ts");
    const deps = { ...kernel, ...needs, log: automationLog(kernel) };
    const service = automationService(configured, deps);
    return {
      service,
      routes: () => service.endpoints(),
      /** Each automation follows the feed independently. */
      work: async () => {
        const { consumeFeed } = await import("#engine/feed-readers.ts");
        const readers = configured.map((automation) => ({
          name: `automation-${automation.name}`,
          atOnce: eventsAtOnce,
          handle: (batch: readonly Event[]) => actOn(automation, batch, deps),
        }));
        const onIncident = logIncidents(kernel.logger, { job: "automations" });
        return consumeFeed("automations", readers, { ...kernel, onIncident });
      },
      readings: async () =>
        (await service.list()).flatMap(({ name: automation, state, done, unchanged, failed }) => [
          { metric: "automationStopped" as const, value: Number(state === "stopped"), labels: { automation } },
          ...Object.entries({ done, unchanged, failed }).map(([outcome, value]) => ({
            metric: "automationEvents" as const,
            value,
            labels: { automation, outcome },
          })),
        ]),
    };
  },
  commands: {
    automations: {
      group: "automate",
      summary: "Manage event-triggered tasks",
      load: async (context) => (await import("./commands.ts")).automationsCommand(context),
    },
  },
});
