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
  open: async (_, needs) => ({ service: new (await import("./tasks.ts")).ServiceTasks(needs) }),
});
