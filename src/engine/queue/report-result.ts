/**
 * Reports the result of a job to BullMQ. None of the results consumes one of the job's attempts: a spent quota pauses the
 * whole queue until shortly before the refresh, other waits delay only this job.
 */
import { DelayedError, type Job, type Queue, RateLimitError, WaitingError } from "bullmq";
import type { Clock } from "#core/time.ts";
import type { WorkResult, JobResult } from "./job-result.ts";
import { maxHoldMs } from "./wrong-times.ts";

/** The job and the queue that a result is reported for. */
interface JobContext<Data> {
  readonly queue: Queue<Data>;
  readonly job: Job<Data>;
  readonly token: string | undefined;
  readonly clock: Clock;
}

/** How long before the refresh the queue resumes: the rest is waited for in the process, to the millisecond. */
const leadMs = 1_000;

export async function reportToQueue<Data>(result: JobResult | WorkResult, context: JobContext<Data>): Promise<void> {
  const { queue, job, token, clock } = context;
  switch (result.kind) {
    case "finished":
    case "parked":
    case "ended":
      return;
    case "handed-back":
      await job.moveToWait(token);
      throw new WaitingError();
    case "postponed": {
      if (result.scope === "job") {
        await job.moveToDelayed(clock.wallMs() + Math.ceil(result.delayMs), token);
        throw new DelayedError();
      }
      await holdQueue(queue, result.delayMs - leadMs);
      throw new RateLimitError();
    }
  }
}

/** In BullMQ the last writer wins, so this only ever extends a hold. After the longest one, a job asks for another. */
async function holdQueue<Data>(queue: Queue<Data>, holdMs: number): Promise<void> {
  const wholeMs = Math.min(Math.max(1, Math.floor(holdMs)), maxHoldMs);
  const presentMs = await queue.getRateLimitTtl();
  if (wholeMs > presentMs) await queue.rateLimit(wholeMs);
}
