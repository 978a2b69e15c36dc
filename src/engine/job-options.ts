/** What every job of every queue has in common. */
import { backoffMs } from "#core/backoff.ts";

/** Faults of the machinery itself (Redis full, a bug) are tried so often; then the job stays for people to see. */
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
