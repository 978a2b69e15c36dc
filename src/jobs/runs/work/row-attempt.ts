/** The reference that a worker gets for a job of a run, and the result of one attempt of one row. */
import type { PlatformError } from "#core/errors.ts";
import type { ShownSim } from "../ledger/settlement.ts";

/** A segment of a run, as a queue carries it: never the rows themselves. */
export interface SegmentReference {
  readonly runId: string;
  readonly segment: number;
  /** How many processes have died with its job. */
  readonly deaths?: number;
}

/** Subject of a job of a run: a segment, or the check after a wave. */
export type JobReference = SegmentReference | { readonly runId: string; readonly wave: number };

/** The result of one attempt of one row. */
export type TryResult =
  | { readonly kind: "done"; readonly shown?: ShownSim }
  /** The platform answered that the SIM is already as requested. */
  | { readonly kind: "already"; readonly reason: string }
  /** No call was made, because the SIM has changed since the row was submitted. */
  | { readonly kind: "skipped"; readonly reason: string }
  | { readonly kind: "rejected"; readonly reason: string }
  /** Does not count as an attempt: the quota is spent, the run's own rate limit applies, or the platform is unreachable. */
  | {
      readonly kind: "postponed";
      readonly delayMs: number;
      readonly scope: "bucket" | "job";
      readonly wasRateLimited: boolean;
      /** Something other than a spent quota is wrong, and users have to see it. */
      readonly isProblem: boolean;
      readonly reason: string;
    }
  /** The call was sent and its response lost: the change may have been applied. It is sent again if that is safe. */
  | { readonly kind: "unknown"; readonly reason: string }
  /** Result of an unsafe call whose response was lost, as far as it is known. */
  | { readonly kind: "lost"; readonly outcome: "done" | "failed" | "unknown"; readonly reason: string }
  /** The SIM's record is read again later, to find out what a lost call did; the other rows continue. */
  | { readonly kind: "waiting"; readonly delayMs: number }
  /** The call failed and changed nothing; it is worth a retry. */
  | { readonly kind: "failed-try"; readonly reason: string }
  /** The platform rejected our credentials or permissions, or the configuration lacks something: it is not this row. */
  | { readonly kind: "refused"; readonly error: PlatformError };
