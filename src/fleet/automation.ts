/** An automation: a task that runs when an event occurs and a condition holds. */
import type { Filter } from "./filter.ts";
import type { RunOptions } from "./run.ts";
import type { Task } from "./task.ts";

export interface Automation {
  readonly name: string;
  /** Only events of this profile. */
  readonly profile: string;
  /** Types of events. */
  readonly on: readonly string[];
  /** On the SIM of the event, and on the event's own fields as `event.<field>`. */
  readonly condition: Filter;
  readonly action: AutomationAction;
  /** More SIMs (or tasks) per hour stop the automation. */
  readonly maxPerHour: number;
}

export type AutomationAction =
  /** Does an operation to the events' SIMs. */
  | {
      readonly job: "apply";
      readonly operation: string;
      /** Values by input. */
      readonly set: Readonly<Record<string, string>>;
      readonly options: RunOptions;
    }
  | Exclude<Task, { readonly job: "apply" }>;

export type AutomationState =
  | "active"
  /** By a user. */
  | "paused"
  /** Automatically: it triggered itself in a loop, or exceeded its limit. */
  | "stopped";
