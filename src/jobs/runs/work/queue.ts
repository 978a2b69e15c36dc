/**
 * The queues of runs: one per bucket, so that a spent quota holds only its own work. A job is a reference to a segment;
 * missing jobs can be enqueued again from the ledger at any time, since a job's id is derived from its content.
 */
import type { Queue } from "bullmq";
import type { JobResult, Incident, Working } from "#engine/queue/job-result.ts";
import { type QueueDeps, workQueues } from "#engine/queue/work-queues.ts";
import { maxHoldMs } from "#engine/queue/wrong-times.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { RunRecord } from "../ledger/run-record.ts";

/** A segment of a run, as a queue carries it: never the rows themselves. */
export interface SegmentReference {
  readonly runId: string;
  readonly segment: number;
  /** How many processes have died with its job. */
  readonly deaths?: number;
}

/** Subject of a job of a run: a segment, or the check after a wave. */
export type JobReference = SegmentReference | { readonly runId: string; readonly wave: number };

/** Number of segments that one process works on at once; each has several calls in flight. */
export const segmentsAtOnce = 4;
const jobName = "process-segment";
/** BullMQ applies a queue's manual rate limit only if one is configured; this one is too high to take effect itself. */
const boundlessRate = { max: 1e12, durationMs: maxHoldMs };
const addAtOnce = 500;
const maxRead = 9_999;
/** A segment whose work fails is tried again after this time at most. */
const faultCapMs = 30_000;

export interface SegmentWork {
  readonly execute: (reference: JobReference, signal: AbortSignal) => Promise<JobResult>;
  readonly onIncident: (incident: Incident) => void;
}

export type RunQueues = ReturnType<typeof runQueues>;

export function runQueues({ ledger, ...deps }: QueueDeps & { readonly ledger: Ledger }) {
  const queues = workQueues<JobReference>(
    {
      nameOf: queueName,
      onOpen: (queue) => queue.setGlobalRateLimit(boundlessRate.max, boundlessRate.durationMs),
    },
    deps,
  );

  /**
   * Enqueues the jobs of all segments that may be processed, or of the check after a wave. Repeating it has no effect.
   * @param others `now` also runs delayed segments at once, because a user asked for it
   */
  const enqueue = async (run: RunRecord, others: "leave" | "now" = "leave"): Promise<void> => {
    const queue = await queues.queue(run.bucket);
    const open = await openJobs(run, ledger);
    if (others === "now") {
      const delayed = (await queue.getDelayed(0, maxRead)).filter((job) => job?.data.runId === run.runId);
      // A job that has just become due starts without help.
      await Promise.all(delayed.map((job) => job.promote().catch(() => undefined)));
    }
    const delay = Math.max(0, (run.soakUntilMs ?? 0) - deps.clock.wallMs());
    for (let at = 0; at < open.length; at += addAtOnce) {
      const jobs = open.slice(at, at + addAtOnce).map((data) => ({
        name: jobName,
        data,
        opts: { jobId: jobId(data), ...(delay === 0 ? {} : { delay }) },
      }));
      await queue.addBulk(jobs);
    }
  };

  /** Enqueues missing jobs of the bucket's running runs, after a crash between ledger and queue or loss of a queue. */
  const restore = async (bucket: string): Promise<void> => {
    const runs = (await ledger.running()).filter((run) => run.bucket === bucket);
    if (runs.length > 0 && (await lacksJobs(await queues.queue(bucket), runs, ledger))) {
      for (const run of runs) await enqueue(run);
    }
  };

  /** Processes the segments of a bucket until stopped. */
  const consume = (bucket: string, work: SegmentWork): Promise<Working> => {
    return queues.consume(bucket, {
      ...segmentCallbacks(work, ledger, enqueue),
      restore: () => restore(bucket),
      afterReporting: async ({ runId }, kind) => {
        if (kind !== "parked") return;
        // A run that was resumed just while its last jobs were parked has no job in the queue.
        const state = await ledger.state(runId).catch(() => "gone");
        if (state === "running") await restore(bucket);
      },
    });
  };

  const { queue, isServed } = queues;
  return { queue, enqueue, isServed, consume };
}

async function lacksJobs(queue: Queue, runs: readonly RunRecord[], ledger: Ledger): Promise<boolean> {
  const counts = await queue.getJobCounts("wait", "active", "delayed", "prioritized");
  const inQueue = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const open = await Promise.all(runs.map(async (run) => (await openJobs(run, ledger)).length));
  return inQueue < open.reduce((sum, count) => sum + count, 0);
}

/** Jobs that may be processed: the segments up to the end of the open wave, or the check after it. */
async function openJobs(run: RunRecord, ledger: Ledger): Promise<JobReference[]> {
  const { runId, wave, waves, segments } = run;
  const finished = await ledger.finishedSegments(runId);
  const end = wave < waves.length - 1 ? (waves[wave]?.end ?? 0) : segments.length;
  const open: JobReference[] = run.soakUntilMs === undefined ? [] : [{ runId, wave }];
  for (let segment = 0; segment < end; segment += 1) {
    if ((segments[segment]?.callable ?? 0) > 0 && !finished.has(segment)) open.push({ runId, segment });
  }
  return open;
}

/** Callbacks of a worker for a segment. */
function segmentCallbacks(
  { execute, onIncident }: SegmentWork,
  ledger: Ledger,
  enqueue: (run: RunRecord) => Promise<void>,
) {
  return {
    atOnce: segmentsAtOnce,
    work: async (reference: JobReference, signal: AbortSignal, deaths: number): Promise<JobResult> => {
      const { runId } = reference;
      const result = await execute({ ...reference, deaths }, signal);
      if (result.kind === "postponed" && result.refusal !== undefined) {
        // Only a user can change it; a configuration fault pauses the run, since this process keeps its own.
        const { reason, refusal } = result;
        onIncident({ runId, message: reason, refusal });
        const isPaused = refusal.code === "CONFIG_INVALID";
        if (isPaused) await ledger.move(runId, "paused", ["running"], { reason }).catch(() => undefined);
      }
      // While this process still holds the job.
      if (result.kind === "finished" && result.hasEndedWave) await enqueue(await ledger.run(runId));
      return result;
    },
    traceParentOf: async ({ runId }: JobReference) => (await ledger.run(runId)).traceParent,
    onIncident: ({ message, data }: { readonly message: string; readonly data?: JobReference }): void => {
      onIncident({ message, ...(data ? { runId: data.runId } : {}) });
      if (data) void ledger.recordProblem(data.runId, { message, delayMs: faultCapMs }).catch(() => undefined);
    },
  };
}

export function queueName(bucket: string): string {
  return `calls-${bucket}`;
}

function jobId(data: JobReference): string {
  return "wave" in data ? `${data.runId}-w${data.wave}` : `${data.runId}-s${data.segment}`;
}
