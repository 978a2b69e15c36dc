/**
 * The queues of runs: one per bucket, so that a spent quota holds only its own work. A queue carries references to segments;
 * missing jobs can be enqueued again from the ledger at any time, since a job's id is derived from its content.
 */
import type { Queue } from "bullmq";
import type { Redis } from "ioredis";
import type { SegmentReference } from "./row-attempt.ts";
import { jobOptions } from "#engine/queue/job-options.ts";
import type { Keys } from "#redis/keys.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { RunRecord } from "../ledger/run-record.ts";
import { openQueue } from "#engine/queue/open-queue.ts";
import { maxHoldMs, repairTimes } from "#engine/queue/wrong-times.ts";
import type { Clock } from "#core/time.ts";

const segmentJobName = "process-segment";
/** BullMQ applies a queue's manual rate limit only if one is configured; this one is high enough never to take effect itself. */
const boundlessRate = { max: 1e12, durationMs: maxHoldMs };
const addAtOnce = 500;
const maxRead = 9_999;

export class Queues {
  readonly #connect: (name: string) => Redis;
  readonly #keys: Keys;
  readonly #ledger: Ledger;
  readonly #clock: Clock;
  readonly #open = new Map<string, Promise<Queue<SegmentReference>>>();
  #redis: Redis | undefined;

  constructor(options: { connect: (name: string) => Redis; keys: Keys; ledger: Ledger; clock: Clock }) {
    this.#connect = options.connect;
    this.#keys = options.keys;
    this.#ledger = options.ledger;
    this.#clock = options.clock;
  }

  /** The bucket's queue, opened once. */
  queue(bucket: string): Promise<Queue<SegmentReference>> {
    let queue = this.#open.get(bucket);
    if (queue === undefined) {
      queue = this.#openQueue(bucket);
      queue.catch(() => this.#open.delete(bucket));
      this.#open.set(bucket, queue);
    }
    return queue;
  }

  async #openQueue(bucket: string): Promise<Queue<SegmentReference>> {
    this.#redis ??= this.#connect("queues");
    const queue = await openQueue<SegmentReference>(queueName(bucket), {
      redis: this.#redis,
      keys: this.#keys,
      defaultJobOptions: jobOptions,
    });
    await queue.setGlobalRateLimit(boundlessRate.max, boundlessRate.durationMs);
    return queue;
  }

  /**
   * Enqueues the jobs of all segments that may be processed and are not finished. Repeating it has no effect.
   * @param others `now` also runs delayed segments at once, because a user asked for it
   */
  async enqueue(run: RunRecord, others: "leave" | "now" = "leave"): Promise<void> {
    const queue = await this.queue(run.bucket);
    const segments = await this.#openSegments(run);
    if (others === "now") {
      const delayed = (await queue.getDelayed(0, maxRead)).filter((job) => job?.data.runId === run.runId);
      // A job that has just become due starts without help.
      await Promise.all(delayed.map((job) => job.promote().catch(() => undefined)));
    }
    for (let at = 0; at < segments.length; at += addAtOnce) {
      const jobs = segments.slice(at, at + addAtOnce).map((segment) => ({
        name: segmentJobName,
        data: { runId: run.runId, segment },
        opts: { jobId: jobId(run.runId, segment) },
      }));
      await queue.addBulk(jobs);
    }
  }

  /**
   * Enqueues missing jobs of the bucket's running runs, after a crash between ledger and queue or the loss of a queue, and
   * repairs the times that a wrong clock has written.
   */
  async restore(bucket: string): Promise<void> {
    const runs = (await this.#ledger.running()).filter((run) => run.bucket === bucket);
    if (runs.length === 0) return;
    const queue = await this.queue(bucket);
    if (this.#redis !== undefined) await repairTimes(queue, this.#redis, this.#clock.wallMs());
    const counts = await queue.getJobCounts("wait", "active", "delayed", "prioritized");
    const inQueue = Object.values(counts).reduce((sum, count) => sum + count, 0);
    const open = await Promise.all(runs.map(async (run) => (await this.#openSegments(run)).length));
    if (inQueue >= open.reduce((sum, count) => sum + count, 0)) return;
    for (const run of runs) await this.enqueue(run);
  }

  /** The canary's segments first; the rest once the canary has succeeded. */
  async #openSegments(run: RunRecord): Promise<number[]> {
    const isCanary = run.canarySegments > 0 && run.canaryLeft > 0;
    const finished = await this.#ledger.finishedSegments(run.runId);
    const end = isCanary ? run.canarySegments : run.segments.length;
    const open: number[] = [];
    for (let segment = 0; segment < end; segment += 1) {
      if ((run.segments[segment]?.callable ?? 0) > 0 && !finished.has(segment)) open.push(segment);
    }
    return open;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open.values()].map(async (queue) => (await queue.catch(() => undefined))?.close()));
  }
}

export function queueName(bucket: string): string {
  return `calls-${bucket}`;
}

function jobId(runId: string, segment: number): string {
  return `${runId}-s${segment}`;
}
