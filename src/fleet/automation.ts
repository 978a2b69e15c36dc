/** An automation: when something happens and a condition holds, a task is done. */
import type { Filter } from "./filter.ts";
import type { RunOptions } from "./run.ts";
import type { Task } from "./task.ts";

export interface Automation {
  readonly name: string;
  /** Only events of this profile. */
  readonly profile: string;
  /** Types of events. */
  readonly on: readonly string[];
  /** About the SIM of the event, and about the event's own fields as `event.<field>`. */
  readonly condition: Filter;
  readonly action: AutomationAction;
  /** More SIMs (or tasks) in an hour stop it. */
  readonly mostPerHour: number;
}

export type AutomationAction =
  /** Gives the SIMs of the events a speed class. */
  | { readonly job: "apply"; readonly speedClass: string; readonly options: RunOptions }
  | Exclude<Task, { readonly job: "apply" }>;

export type AutomationState =
  | "active"
  /** By a person. */
  | "paused"
  /** By itself: it went round in a circle, or did too much. */
  | "stopped";
