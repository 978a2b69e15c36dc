/** The interface with which schedules and automations start and follow tasks. */
import type { Automation } from "#fleet/automation.ts";
import type { Task, TaskReference, TaskStatus } from "#fleet/task.ts";

/** Starts and follows tasks through the services, like a user. */
export interface Tasks {
  /**
   * Begins a task, or returns what was begun under the key before.
   * @param how `sinceMs`: a rotation that began after this time belongs to this task
   * @returns a text if there is nothing to do, with the reason
   */
  begin(task: Task, options: { key: string; by: string; sinceMs: number }): Promise<TaskReference | string>;
  status(task: Task, reference: TaskReference): Promise<TaskStatus>;
  cancel(reference: TaskReference, options: { by: string; reason: string }): Promise<void>;
}

/** Additional operations for automations: setting the speed class of an event's SIM. */
export interface AutomationTasks extends Tasks {
  /** The id of the run that a key stands for. */
  runIdFor(key: string, atMs: number): string;
  /** Sets the class of SIMs, in the run with this id; an existing run is kept unchanged. */
  changeSims(
    change: Extract<Automation["action"], { job: "apply" }> & { profile: string; sims: readonly string[] },
    options: { runId: string; name: string; by: string },
  ): Promise<TaskReference>;
}
