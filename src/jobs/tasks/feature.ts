/** Tasks: what schedules and automations can start, through the same services as a user. */
import { authKeys } from "#jobs/authkeys/feature.ts";
import { credentials } from "#jobs/credentials/feature.ts";
import { inventory } from "#jobs/inventory/feature.ts";
import { runs } from "#jobs/runs/feature.ts";
import { usage } from "#jobs/usage/feature.ts";
import { feature } from "#cli/feature.ts";

export const tasks = feature({
  name: "tasks",
  needs: { runs, inventory, usage, credentials, authKeys },
  open: async ({ config }, needs) => {
    const { ServiceTasks, foldersOfTasks } = await import("./tasks.ts");
    const service = new ServiceTasks(needs);
    const configured = [...config.schedules.map(({ task }) => task), ...config.automations.map(({ action }) => action)];
    return { service, folders: () => foldersOfTasks(configured) };
  },
});
