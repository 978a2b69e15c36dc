/** A schedule: a task that runs at the times of a cron expression. */
import type { Cron } from "./time/cron.ts";
import type { Task } from "./task.ts";

/** Handling of a time that comes while the previous task is active. */
export const overlapPolicies = ["skip", "queue", "cancel"] as const;
export type OverlapPolicy = (typeof overlapPolicies)[number];

/** Handling of times missed while no worker was running. */
export const missedPolicies = ["once", "skip"] as const;
/** With a window (`15m`) the task never starts later than that after its time, whatever delayed it. */
export type MissedPolicy = (typeof missedPolicies)[number] | { readonly within: string; readonly withinMs: number };

export interface Schedule {
  readonly name: string;
  readonly profile: string;
  readonly cron: Cron;
  readonly task: Task;
  /** Maximum random delay of the start; the same in every process for the same time. */
  readonly jitterMs: number;
  readonly overlap: OverlapPolicy;
  readonly missed: MissedPolicy;
  /** Handling of a time during a freeze. */
  readonly frozen: FrozenPolicy;
  /** So many failures in a row pause it. */
  readonly pauseAfterFailures?: number | undefined;
}

/** Skip it, or wait until the freeze ends. */
export const frozenPolicies = ["skip", "wait"] as const;
export type FrozenPolicy = (typeof frozenPolicies)[number];

/** The result of one execution of a schedule. */
export type ExecutionResult = "done" | "failed" | "skipped" | "missed" | "cancelled";
