/** What a schedule or an automation has done: the same few jobs that a person can ask for. */
import type { Filter } from "./filter.ts";
import type { RunOptions } from "./run.ts";

export type Task =
  /** Reads the fleet. */
  | { readonly job: "sync"; readonly profile: string }
  /** Gives SIMs a speed class: those of a file, or those that a filter means when it is done. */
  | {
      readonly job: "apply";
      readonly profile: string;
      readonly from: { readonly file: string } | { readonly filter: Filter };
      /** A filter needs it; so does a file of ids only. */
      readonly speedClass: string | undefined;
      readonly options: RunOptions;
    }
  /** Rotates the secret of a Credential Set. */
  | { readonly job: "rotate"; readonly profile: string; readonly rotation: string }
  /** Rotates the profile's AuthKey. */
  | { readonly job: "rotate-authkey"; readonly profile: string }
  /** Writes how the fleet stands to a JSON file, which it replaces. */
  | { readonly job: "report"; readonly profile: string; readonly file: string };

/** Every kind of task; a new one does not compile until it says here whether it can change something on the platform. */
const changes: Readonly<Record<Task["job"], boolean>> = {
  sync: false,
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

/** What a task has begun, to be asked about. */
export interface TaskReference {
  readonly kind: "run" | "sync" | "rotation" | "authkey-rotation" | "report";
  /** Run id, sync id, or the id of a rotation's turn. */
  readonly id: string;
}

/** How what a task has begun stands. */
export type TaskStatus =
  | { readonly isOver: false }
  | { readonly isOver: true; readonly result: TaskResult; readonly reason: string | undefined };

export type TaskResult = "done" | "failed" | "cancelled";
