/**
 * Samples how many calls each quota's recent windows had, as this worker sees the counters grow. The history starts
 * with the worker and is for display only; the limiter does not use it.
 */
import type { BucketReport, BucketWindow } from "./contract.ts";

const windowsKept = 60;

interface Record {
  calls: number;
  throttled: number;
  readonly windows: BucketWindow[];
}

export class BucketWindows {
  readonly #records = new Map<string, Record>();

  /** Takes a sample. */
  take(buckets: readonly Pick<BucketReport, "bucket" | "calls" | "throttled">[], atMs: number): void {
    for (const { bucket, calls, throttled } of buckets) {
      const record = this.#records.get(bucket);
      if (record === undefined) {
        this.#records.set(bucket, { calls, throttled, windows: [] });
        continue;
      }
      // Counters that decreased belong to a bucket that was removed and created again.
      const window = { calls: Math.max(0, calls - record.calls), throttled: Math.max(0, throttled - record.throttled) };
      record.windows.push({ at: new Date(atMs).toISOString(), ...window });
      record.windows.splice(0, record.windows.length - windowsKept);
      Object.assign(record, { calls, throttled });
    }
  }

  /** Oldest first. */
  of(bucket: string): readonly BucketWindow[] {
    return this.#records.get(bucket)?.windows ?? [];
  }
}
