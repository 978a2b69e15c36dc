/** Automations: tasks that events start. */
import { feature } from "#cli/feature.ts";
import { events } from "./events.ts";
import { logIncidents } from "#kernel/feature.ts";
import { inventory } from "#jobs/inventory/feature.ts";
import { tasks } from "#jobs/tasks/feature.ts";
import { runs } from "#jobs/runs/feature.ts";

export const automations = feature({
  name: "automations",
  data: { automations: ["automation", "automation-chain"] },
  audit: "automations",
  events,
  needs: { inventory, tasks, runs },
  open: async (kernel, needs) => {
    const { openAutomations } = await import("./open.ts");
    const { service, consume } = openAutomations(kernel, needs);
    return {
      service,
      routes: async () => (await import("./service.ts")).automationEndpoints(service, kernel.clock),
      work: async () => {
        await consume(logIncidents(kernel.logger, { job: "automations" }));
        return [];
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
      summary: "event-triggered tasks",
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
});
