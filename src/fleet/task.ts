/** The task of a schedule or an automation: one of the jobs that a user can also start. */
import type { Filter } from "./filter.ts";
import type { RunOptions } from "./run.ts";

export type Task =
  /** Syncs the fleet. */
  | { readonly job: "sync"; readonly profile: string }
  /** Reads the usage of the fleet. */
  | { readonly job: "usage"; readonly profile: string }
  /** Does an operation to SIMs: those of a file, or those that match a filter at run time. */
  | {
      readonly job: "apply";
      readonly profile: string;
      readonly from: { readonly file: string } | { readonly filter: Filter };
      /** Name of the SIM operation. */
      readonly operation: string;
      /** Values for all rows by input; with a filter, all that are required. */
      readonly set: Readonly<Record<string, string>>;
      readonly options: RunOptions;
    }
  /** Rotates the secret of a Credential Set. */
  | { readonly job: "rotate"; readonly profile: string; readonly rotation: string }
  /** Rotates the profile's AuthKey. */
  | { readonly job: "rotate-authkey"; readonly profile: string }
  /** Writes a fleet report to a JSON file, replacing the previous one. */
  | { readonly job: "report"; readonly profile: string; readonly file: string };

type ApplyTask = Extract<Task, { readonly job: "apply" }>;

/** Task of an automation: an operation is applied to the SIMs of its events. */
export type AutomationAction = Omit<ApplyTask, "profile" | "from"> | Exclude<Task, ApplyTask>;

/** Every kind of task, and whether it can change the platform; a new kind does not compile without an entry. */
const changes: Readonly<Record<Task["job"], boolean>> = {
  sync: false,
  usage: false,
  apply: true,
  rotate: true,
  "rotate-authkey": true,
  report: false,
};

/** The names of all kinds. */
export const taskJobs = Object.keys(changes) as [Task["job"], ...Task["job"][]];

/** Whether a task can change something on the platform. */
export function changesPlatform({ job }: Task): boolean {
  return changes[job];
}

/** Whether a request comes from a schedule or an automation, instead of a user. */
export function isUnattended(by: string): boolean {
  return /^(?:schedule|automation):/.test(by);
}

/** Identifies what a task has started, to query its status. */
export interface TaskReference {
  readonly kind: "run" | "sync" | "rotation" | "authkey-rotation" | "report";
  /** Run id, sync id, or the id of a rotation attempt. */
  readonly id: string;
}

/** The status of what a task has started. */
export type TaskStatus =
  | { readonly isOver: false }
  | { readonly isOver: true; readonly result: TaskResult; readonly reason: string | undefined };

export type TaskResult = "done" | "failed" | "cancelled";
