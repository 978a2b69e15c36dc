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
    if (others === "now") {
      const present = await queue.getJob(jobId);
      if (await present?.isDelayed()) await present?.promote().catch(() => undefined);
    }
    await queue.add(kind, { name }, { jobId });
  };

  const consume = <E extends Named>(queue: string, entries: readonly E[], named: NamedWork<E>): Promise<Working> => {
    /** Adds jobs of work that has none, and starts those that are delayed although their work is due. */
    const restore = async (): Promise<void> => {
      const restoring = entries.map(async (entry) => {
        const found = await named.status(entry);
        if (found !== "none") await enqueue(entry.name, found === "due" ? "now" : "leave");
      });
      await Promise.all(restoring);
    };
    return queues.consume(queue, {
      atOnce: entries.length,
      isTraced,
      restore,
      // Work that was created just as the previous job ended has no job yet.
      afterReporting: restore,
      work: ({ name }, signal) => workOn(name, entries, { ...named, signal }),
      onIncident: ({ message }) => named.onIncident({ message }),
    });
  };

  /** Removes the jobs of entries that were configured once. One that stays is counted in the metrics, no more. */
  const removeAll = async (): Promise<void> => {
    const wasUsed = (await deps.redis.sismember(deps.keys.queueNames(), kind)) === 1;
    if (wasUsed) await (await queues.queue(kind)).drain(true);
  };

  return {
    queue: queues.queue,
    enqueue,

    /** Whether a live process works on the queue of a name. */
    isServed: (name = kind) => queues.isServed(name),

    /** Works on an entry with a queue of its own until stopped. */
    consumeOne: <E extends Named>(entry: E, named: NamedWork<E>) => consume(entry.name, [entry], named),

    /** Works on all entries, at once, until stopped. @returns the consumer of their queue; none without entries */
    consumeAll: async <E extends Named>(entries: readonly E[], named: NamedWork<E>): Promise<Working[]> => {
      if (entries.length > 0) return [await consume(kind, entries, named)];
      await removeAll().catch(() => undefined);
      return [];
    },
  };
}

async function workOn<E extends Named>(
  name: string,
  entries: readonly E[],
  { work, onIncident, signal }: NamedWork<E> & { readonly signal: AbortSignal },
): Promise<WorkResult> {
  const entry = entries.find((one) => one.name === name);
  // It is no longer configured, or only in another worker, which adds it again.
  if (entry === undefined) return { kind: "ended" };
  try {
    return await work(entry, signal);
  } catch (thrown) {
    if (signal.aborted) return { kind: "handed-back" };
    const reason = messageOf(thrown);
    onIncident({ message: `${name} is tried again: ${reason}` });
    return { kind: "postponed", delayMs: faultPauseMs, scope: "job", reason };
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
