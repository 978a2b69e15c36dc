/** A schedule: a task at times that a cron expression names. */
import type { Cron } from "./cron.ts";
import type { Task } from "./task.ts";

/** What happens when the time comes and what the time before began is still under way. */
export const overlapPolicies = ["skip", "queue", "cancel"] as const;
export type OverlapPolicy = (typeof overlapPolicies)[number];

/** What happens with times that passed while no worker was up: made up for once, or left out. */
export const missedPolicies = ["once", "skip"] as const;
export type MissedPolicy = (typeof missedPolicies)[number];

export interface Schedule {
  readonly name: string;
  readonly profile: string;
  readonly cron: Cron;
  readonly task: Task;
  /** It begins up to so much later, by an amount that is the same for one time in every process. */
  readonly jitterMs: number;
  readonly overlap: OverlapPolicy;
  readonly missed: MissedPolicy;
  /** What happens when the time comes while nothing may change. */
  readonly frozen: FrozenPolicy;
}

/** It is left out, or waits until things may change again. */
export const frozenPolicies = ["skip", "wait"] as const;
export type FrozenPolicy = (typeof frozenPolicies)[number];

/** What became of one firing of a schedule. */
export type FiringResult = "done" | "failed" | "skipped" | "missed" | "cancelled";
