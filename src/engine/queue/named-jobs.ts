/**
 * Jobs for work that one process at a time does, by name: a profile's sync, a schedule, the reader of an automation.
 * There is at most one job per name. The store records what there is to do; the job only triggers it, and one that was
 * lost is added again.
 */
import { messageOf } from "#core/errors.ts";
import type { Incident, WorkResult, Working } from "./job-result.ts";
import { type QueueDeps, workQueues } from "./work-queues.ts";

interface Named {
  readonly name: string;
}

/** Whether there is work now (`due`), work that is scheduled or in progress (`waiting`), or none. */
export type WorkStatus = "none" | "waiting" | "due";

/** The work on entries of the configuration, or on profiles. */
export interface NamedWork<Entry> {
  readonly work: (entry: Entry, signal: AbortSignal) => Promise<WorkResult>;
  readonly status: (entry: Entry) => Promise<WorkStatus>;
  readonly onIncident: (incident: Incident) => void;
}

interface QueueOptions {
  /** The queue of a name. Defaults to one queue for all. */
  readonly queueOf?: (name: string) => string;
  /** Whether a job is a span. Defaults to false. */
  readonly isTraced?: boolean;
}

/** Work that failed, because of a bug or a full Redis, is tried again after this time. */
const faultPauseMs = 5_000;

export type NamedJobs = ReturnType<typeof namedJobs>;

/** @param kind name of the queue */
export function namedJobs(
  kind: string,
  deps: QueueDeps,
  { queueOf = () => kind, isTraced = false }: QueueOptions = {},
) {
  const queues = workQueues<Named>({ nameOf: queueOf }, deps);

  /**
   * Enqueues the work. Has no effect while it is in progress.
   * @param others `now` also starts work that waits, because it is due or a user asked for it
   */
  const enqueue = async (name: string, others: "leave" | "now" = "leave"): Promise<void> => {
    const queue = await queues.queue(name);
    const jobId = `${kind}-${encodeURIComponent(name)}`;
    const present = await queue.getJob(jobId);
    if (present === undefined) await queue.add(kind, { name }, { jobId });
    else if (others === "now" && (await present.isDelayed())) await present.promote().catch(() => undefined);
  };

  const consume = <E extends Named>(key: string, entries: readonly E[], named: NamedWork<E>): Promise<Working> => {
    const faults = new Map<string, string>();
    /** Adds jobs of work that has none, and starts those that are delayed although their work is due. */
    const restore = async (): Promise<void> => {
      const restoring = entries.map(async (entry) => {
        const found = await named.status(entry);
        if (found !== "none") await enqueue(entry.name, found === "due" ? "now" : "leave");
      });
      await Promise.all(restoring);
    };
    return queues.consume(key, {
      atOnce: entries.length,
      isTraced,
      restore,
      // Work that was created just as the previous job ended has no job yet.
      afterReporting: restore,
      work: async ({ name }, signal) => {
        const entry = entries.find((one) => one.name === name);
        // It is no longer configured, or only in another worker, which adds it again.
        if (entry === undefined) return { kind: "ended" };
        try {
          const result = await named.work(entry, signal);
          faults.delete(name);
          return result;
        } catch (thrown) {
          if (signal.aborted) return { kind: "handed-back" };
          const reason = messageOf(thrown);
          if (faults.get(name) !== reason) named.onIncident({ message: `${name} is tried again: ${reason}` });
          faults.set(name, reason);
          return { kind: "postponed", delayMs: faultPauseMs, scope: "job", reason };
        }
      },
      onIncident: ({ message }) => named.onIncident({ message }),
    });
  };

  return {
    queue: queues.queue,
    enqueue,

    /** Whether a live process works on the queue of a name. */
    isServed: (name = kind) => queues.isServed(name),

    /** Works on an entry with a queue of its own until stopped. */
    consumeOne: <E extends Named>(entry: E, named: NamedWork<E>) => consume(entry.name, [entry], named),

    /** Works on entries that share a queue, at once, until stopped. @returns its consumer; none without entries */
    consumeAll: async <E extends Named>(entries: readonly E[], named: NamedWork<E>): Promise<Working[]> => {
      // One that stays is counted in the metrics, and does nothing else.
      await removeUnserved(kind, deps).catch(() => undefined);
      const [first] = entries;
      return first === undefined ? [] : [await consume(first.name, entries, named)];
    },
  };
}

/** Removes queues of a kind that no worker serves: one without entries anymore, or that of a machine that is gone. */
async function removeUnserved(kind: string, deps: QueueDeps): Promise<void> {
  const { redis, keys, workerRegistry } = deps;
  const { queue: openQueue } = workQueues({ nameOf: (name) => name }, deps);
  for (const name of await redis.smembers(keys.queueNames())) {
    const isOfKind = name === kind || name.startsWith(`${kind}-`);
    if (!isOfKind || (await workerRegistry.workers(name)).length > 0) continue;
    await (await openQueue(name)).obliterate({ force: true });
    await redis.srem(keys.queueNames(), name);
  }
}

/**
 * Jobs of profiles, each with a queue of its own. The queues are separate from the segments' queues, so that the work
 * starts at once even during a run that takes days; both share the quota.
 * @param kind prefix of the names of the queues
 */
export function profileJobs(kind: string, deps: QueueDeps): NamedJobs {
  return namedJobs(kind, deps, { queueOf: (profile) => `${kind}-${profile}`, isTraced: true });
}
