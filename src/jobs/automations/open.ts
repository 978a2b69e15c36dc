/** Opens automations: their record, the service, and what follows the feed for each. */
import type { Incident } from "#engine/queue/job-result.ts";
import { FeedConsumer } from "#events/consumer.ts";
import type { OpenInventory } from "#jobs/inventory/open.ts";
import type { OpenRuns } from "#jobs/runs/open.ts";
import type { ServiceTasks } from "#jobs/tasks/tasks.ts";
import type { Kernel } from "#kernel/kernel.ts";
import { automationLog } from "./record.ts";
import { AutomationService } from "./service.ts";
import { actOn } from "./work.ts";

/** A sync emits thousands of events at once: they become one run. */
const eventsAtOnce = 5_000;

export function openAutomations(
  kernel: Kernel,
  {
    inventory,
    tasks,
    runs,
  }: { readonly inventory: OpenInventory; readonly tasks: ServiceTasks; readonly runs: OpenRuns },
) {
  const { lifecycle } = kernel;
  const { automations } = kernel.config;
  const deps = {
    ...kernel,
    tasks,
    inventory: inventory.store,
    log: automationLog(kernel),
    operationOf: (name: string, profile: string) => runs.service.operation(name, profile),
  };
  const service = new AutomationService(automations, deps);

  /** Runs the automations until the app closes; each follows the feed independently. */
  const consume = async (onIncident: (incident: Incident) => void): Promise<void> => {
    for (const automation of automations) {
      const consumer = await FeedConsumer.start({
        ...kernel,
        name: `automation-${automation.name}`,
        atOnce: eventsAtOnce,
        handle: (events) => actOn(automation, events, deps),
        onIncident: (message) => onIncident({ message }),
      });
      lifecycle.onStop(`automation ${automation.name}`, () => consumer.stop());
    }
  };

  return { service, consume };
}
