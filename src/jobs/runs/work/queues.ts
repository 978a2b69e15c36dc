/**
 * The queues: one for each bucket, so that a spent quota holds its own work and no other. A queue carries references to
 * segments; what it lost or never got can be put in again from the ledger at any time, since a job's id is made from
 * what it is about.
 */
import type { Queue } from "bullmq";
import type { Redis } from "ioredis";
import type { SegmentReference } from "./row-attempt.ts";
import { jobOptions } from "#engine/job-options.ts";
import type { Keys } from "#redis/keys.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { RunRecord } from "../ledger/run-record.ts";
import { openQueue } from "#engine/open-queue.ts";

const segmentJobName = "change-speed-class";
/** BullMQ holds a queue's rate limit only where one is set; this one never comes to bear by itself. */
const boundlessRate = { max: 1e12, durationMs: 60_000 };
const addAtOnce = 500;
const mostRead = 9_999;

export class Queues {
  readonly #connect: (name: string) => Redis;
  readonly #keys: Keys;
  readonly #ledger: Ledger;
  readonly #open = new Map<string, Promise<Queue<SegmentReference>>>();
  #redis: Redis | undefined;

  constructor(options: { connect: (name: string) => Redis; keys: Keys; ledger: Ledger }) {
    this.#connect = options.connect;
    this.#keys = options.keys;
    this.#ledger = options.ledger;
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
    const queue = openQueue<SegmentReference>(queueName(bucket), {
      redis: this.#redis,
      keys: this.#keys,
      defaultJobOptions: jobOptions,
    });
    await queue.setGlobalRateLimit(boundlessRate.max, boundlessRate.durationMs);
    return queue;
  }

  /**
   * Puts in the jobs of all segments that may be worked on and are not finished. Doing it again changes nothing.
   * @param others `now` takes up at once what waits for a later try, and segments again whose machinery failed too
   *   often: a person has asked for it
   */
  async enqueue(run: RunRecord, others: "leave" | "now" = "leave"): Promise<void> {
    const queue = await this.queue(run.bucket);
    const segments = await this.#openSegments(run);
    if (others === "now") {
      const failed = await this.quarantined(run);
      await Promise.all(failed.map((segment) => queue.remove(jobId(run.runId, segment))));
      const delayed = (await queue.getDelayed(0, mostRead)).filter((job) => job?.data.runId === run.runId);
      // One that has just come due is on its way by itself.
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

  /** Puts in what running runs of the bucket lack: after a crash between the ledger and the queue, or a lost queue. */
  async restore(bucket: string): Promise<void> {
    const runs = (await this.#ledger.running()).filter((run) => run.bucket === bucket);
    if (runs.length === 0) return;
    const queue = await this.queue(bucket);
    const counts = await queue.getJobCounts("wait", "active", "delayed", "prioritized", "failed");
    const inQueue = Object.values(counts).reduce((sum, count) => sum + count, 0);
    const open = await Promise.all(runs.map(async (run) => (await this.#openSegments(run)).length));
    if (inQueue >= open.reduce((sum, count) => sum + count, 0)) return;
    for (const run of runs) await this.enqueue(run);
  }

  /** Segments whose job failed for good: it was on too many workers when they died (queue-worker.ts), or a fault stays. */
  async quarantined(run: RunRecord): Promise<number[]> {
    const queue = await this.queue(run.bucket);
    const failed = await queue.getFailed(0, mostRead);
    return failed.filter((job) => job?.data.runId === run.runId).map((job) => job.data.segment);
  }

  /** The canary first, the rest once it held. */
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
