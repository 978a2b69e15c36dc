/** How schedules and automations start what they are for, and ask about it. */
import type { Automation } from "#fleet/automation.ts";
import type { Task, TaskReference, TaskStatus } from "#fleet/task.ts";

/** How tasks are begun and asked about: by the front desk, as a person would. */
export interface Tasks {
  /**
   * Begins a task, or gives what was begun under the key before.
   * @param how `sinceMs`: a rotation that began after it is this one
   * @returns a text where there is nothing to do, and why
   */
  begin(task: Task, how: { key: string; by: string; sinceMs: number }): Promise<TaskReference | string>;
  status(task: Task, reference: TaskReference): Promise<TaskStatus>;
  cancel(reference: TaskReference, how: { by: string; reason: string }): Promise<void>;
}

/** What automations need besides: the SIM of an event gets a speed class. */
export interface AutomationTasks extends Tasks {
  /** The id of the run that would be begun under a key. */
  runIdFor(key: string, atMs: number): string;
  /** Gives SIMs a class, in the run of this id; one that is there stays as it is. */
  changeSims(
    change: Extract<Automation["action"], { job: "apply" }> & { profile: string; sims: readonly string[] },
    how: { runId: string; name: string; by: string },
  ): Promise<TaskReference>;
}
