/** Options shared by every job of every queue. */
import { backoffMs } from "#core/backoff.ts";

/** A job is retried after internal faults (Redis full, a bug) without a limit: nobody has to start it again. */
export const jobOptions = {
  removeOnComplete: true,
  removeOnFail: false,
  attempts: Number.MAX_SAFE_INTEGER,
  backoff: { type: "custom" },
};
const faultBackoff = { baseMs: 500, capMs: 30_000 };

export function faultBackoffMs(attempt: number): number {
  return backoffMs(faultBackoff, attempt);
}
