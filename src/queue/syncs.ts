/**
 * The queue of a profile's syncs. It holds one job at most, so that syncs of one profile never overlap, and it is apart
 * from the segments' queue, so that a sync begins at once while a run of days is under way: they share the quota.
 */
import { type Job, Queue } from "bullmq";
import type { Redis } from "ioredis";
import { messageOf } from "#core/errors.ts";
import { type Clock, every } from "#core/time.ts";
import type { SyncVerdict } from "#jobs/job.ts";
import type { Keys } from "#redis/keys.ts";
import type { Trouble, Working } from "./consumer.ts";
import type { Presence } from "./presence.ts";
import { QueueWorker } from "./queue-worker.ts";
import { jobTerms } from "./queues.ts";

interface SyncReference {
  readonly profile: string;
}

const jobName = "sync-inventory";
const jobId = "the-sync";
const restoreEveryMs = 5_000;

export interface SyncQueueOptions {
  readonly connect: (name: string) => Redis;
  readonly keys: Keys;
  readonly presence: Presence;
  readonly clock: Clock;
}

/** What the syncs' consumer needs of the house. */
export interface SyncHouse {
  readonly sync: (profile: string, signal: AbortSignal) => Promise<SyncVerdict>;
  readonly isUnderWay: (profile: string) => Promise<boolean>;
  readonly onTrouble: (trouble: Trouble) => void;
}

export class SyncQueues {
  readonly #options: SyncQueueOptions;
  readonly #open = new Map<string, Queue<SyncReference>>();
  #redis: Redis | undefined;

  constructor(options: SyncQueueOptions) {
    this.#options = options;
  }

  /**
   * Has the sync of a profile worked on; while it is, doing it again changes nothing.
   * @param others `now` takes up at once what waits for a later try, or failed too often: a person has asked for it
   */
  async enqueue(profile: string, others: "leave" | "now" = "leave"): Promise<void> {
    const queue = this.#queue(profile);
    if (others === "now") {
      const present: Job<SyncReference> | undefined = await queue.getJob(jobId);
      if (await present?.isFailed()) await present?.remove();
      if (await present?.isDelayed()) await present?.promote().catch(() => undefined);
    }
    await queue.add(jobName, { profile }, { jobId });
  }

  /** Whether a live process works on the syncs of the profile. */
  async isServed(profile: string): Promise<boolean> {
    return (await this.#options.presence.workers(queueName(profile))).length > 0;
  }

  /** Works on the syncs of a profile until it is stopped. */
  async consume(profile: string, house: SyncHouse): Promise<Working> {
    const { sync, onTrouble } = house;
    const restore = (): Promise<void> => this.#restore(profile, house);
    const worker = await QueueWorker.start<SyncReference, SyncVerdict>({
      ...this.#options,
      queue: this.#queue(profile),
      atOnce: 1,
      work: async (_, signal) => {
        const verdict = await sync(profile, signal);
        if (verdict.kind === "postponed") {
          const { reason, refusal } = verdict;
          onTrouble({ message: reason, ...(refusal === undefined ? {} : { refusal }) });
        }
        return verdict;
      },
      // One that was begun while the one before was just ending has no job yet.
      afterTelling: () => void restore(),
      onTrouble: ({ message }) => onTrouble({ message }),
    });
    await restore();
    const stopRestoring = every(restoreEveryMs, () => void restore());
    return {
      isMoving: (withinMs) => worker.isMoving(withinMs),
      stop: () => {
        stopRestoring();
        return worker.stop();
      },
    };
  }

  /** Puts in the job of a sync that has none: after a crash between the two, or a lost queue. */
  async #restore(profile: string, { isUnderWay, onTrouble }: SyncHouse): Promise<void> {
    try {
      if (await isUnderWay(profile)) await this.enqueue(profile);
    } catch (thrown) {
      onTrouble({ message: `the sync could not be put back into the queue: ${messageOf(thrown)}` });
    }
  }

  #queue(profile: string): Queue<SyncReference> {
    let queue = this.#open.get(profile);
    if (queue === undefined) {
      this.#redis ??= this.#options.connect("syncs");
      queue = new Queue<SyncReference>(queueName(profile), {
        connection: this.#redis,
        prefix: this.#options.keys.queues(),
        defaultJobOptions: jobTerms,
      });
      queue.on("error", () => undefined); // told of by the connection itself
      this.#open.set(profile, queue);
    }
    return queue;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open.values()].map((queue) => queue.close()));
  }
}

function queueName(profile: string): string {
  return `syncs-${profile}`;
}
