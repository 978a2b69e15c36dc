/**
 * Tells BullMQ how the work on a job ended. None of these ways spends one of the job's attempts: a spent quota holds
 * the whole queue until shortly before the refresh, other waits delay this job alone.
 */
import { DelayedError, type Job, type Queue, RateLimitError, WaitingError } from "bullmq";
import type { Clock } from "#core/time.ts";
import type { WorkResult, JobResult } from "./job-result.ts";

/** What the queue is told about a job. */
interface JobContext<Data> {
  readonly queue: Queue<Data>;
  readonly job: Job<Data>;
  readonly token: string | undefined;
  readonly clock: Clock;
}

/** How long before the refresh work comes back from the queue: the last part is waited for in place, to the millisecond. */
const leadMs = 1_000;

export async function reportToQueue<Data>(verdict: JobResult | WorkResult, context: JobContext<Data>): Promise<void> {
  const { queue, job, token, clock } = context;
  switch (verdict.kind) {
    case "finished":
    case "parked":
    case "ended":
      return;
    case "handed-back":
      await job.moveToWait(token);
      throw new WaitingError();
    case "postponed": {
      if (verdict.scope === "job") {
        await job.moveToDelayed(clock.wallMs() + Math.ceil(verdict.delayMs), token);
        throw new DelayedError();
      }
      await holdQueue(queue, verdict.delayMs - leadMs);
      throw new RateLimitError();
    }
  }
}

/** The last writer wins in BullMQ, so a hold is only ever extended. */
async function holdQueue<Data>(queue: Queue<Data>, holdMs: number): Promise<void> {
  const wholeMs = Math.max(1, Math.floor(holdMs));
  const presentMs = await queue.getRateLimitTtl();
  if (wholeMs > presentMs) await queue.rateLimit(wholeMs);
}
