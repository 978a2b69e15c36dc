/**
 * Samples how many calls each quota's recent windows had, as this worker sees the counters grow. The history starts
 * with the worker and is for display only; the limiter does not use it.
 */
import type { BucketDay, BucketReport, BucketWindow } from "#jobs/quota/contract.ts";

const windowsKept = 60;
const dayMs = 86_400_000;

interface Record {
  calls: number;
  throttled: number;
  readonly windows: BucketWindow[];
  /** Calls since the begin of the day, or since the worker started. */
  today: BucketDay;
}

export class BucketWindows {
  readonly #records = new Map<string, Record>();

  /** Takes a sample. */
  take(buckets: readonly Pick<BucketReport, "bucket" | "calls" | "throttled">[], atMs: number): void {
    for (const { bucket, calls, throttled } of buckets) {
      const record = this.#records.get(bucket);
      if (record === undefined) {
        this.#records.set(bucket, { calls, throttled, windows: [], today: begun(atMs) });
        continue;
      }
      // Counters that decreased belong to a bucket that was removed and created again.
      const window = { calls: Math.max(0, calls - record.calls), throttled: Math.max(0, throttled - record.throttled) };
      record.windows.push({ at: new Date(atMs).toISOString(), ...window });
      record.windows.splice(0, record.windows.length - windowsKept);
      const today = dayOf(Date.parse(record.today.since)) === dayOf(atMs) ? record.today : begun(dayOf(atMs));
      record.today = {
        since: today.since,
        calls: today.calls + window.calls,
        throttled: today.throttled + window.throttled,
      };
      Object.assign(record, { calls, throttled });
    }
  }

  /** Undefined before the first sample. */
  today(bucket: string): BucketDay | undefined {
    return this.#records.get(bucket)?.today;
  }

  /** Oldest first. */
  of(bucket: string): readonly BucketWindow[] {
    return this.#records.get(bucket)?.windows ?? [];
  }
}

/** Begin of the day, UTC. */
function dayOf(ms: number): number {
  return ms - (ms % dayMs);
}

function begun(atMs: number): BucketDay {
  return { since: new Date(atMs).toISOString(), calls: 0, throttled: 0 };
}
