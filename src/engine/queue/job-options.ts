/** Options shared by every job of every queue. */
import { backoffMs } from "#core/backoff.ts";

/** Retries after internal faults (Redis full, a bug); after the last one the job stays in the queue as failed, for inspection. */
export const jobOptions = {
  removeOnComplete: true,
  removeOnFail: false,
  attempts: 25,
  backoff: { type: "custom" },
};
const faultBackoff = { baseMs: 500, capMs: 30_000 };

export function faultBackoffMs(attempt: number): number {
  return backoffMs(faultBackoff, attempt);
}
