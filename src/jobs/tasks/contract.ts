/** Preview of a task, a part of the responses of schedules and automations. */
import { z } from "zod";
import { planReport } from "#jobs/runs/contract.ts";

export const taskPreview = z.object({
  does: z.string().describe("what the task would do, in words"),
  plan: planReport.nullable().describe("the plan of its run; null for tasks other than `apply`, and if no SIM matches"),
});

export type TaskPreview = Readonly<z.infer<typeof taskPreview>>;
