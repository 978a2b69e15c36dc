/**
 * Finds work that kills its worker. A process marks a piece of work in Redis before it starts, and removes the mark
 * when the work ends in any way, also with an error or a stop of the process. A mark whose process is gone is a death.
 * After three deaths the work is not started again: its feature quarantines it, with a reason, until a user releases
 * it. Work that makes progress has a new name, such as its next state, so only deaths at the same point count. Of work
 * that is done side by side, such as the rows of runs, suspects are done alone, one after the other.
 */
import { randomBytes } from "node:crypto";
import type { Redis } from "ioredis";
import { minuteMs } from "#core/time.ts";
import type { Keys } from "#redis/keys.ts";
import { Script } from "#redis/script.ts";
import type { WorkerRegistry } from "./queue/worker-registry.ts";

const beginScript = Script.load(new URL("./begin-work.lua", import.meta.url));
const maxDeaths = 3;
/** Older deaths are forgotten: a worker that lives for years is killed now and then. */
const deathCountsMs = 24 * 60 * minuteMs;
/** Under this name the processes that do work are registered. */
const processes = "processes";

/** Result of work that must not be done. */
export const quarantined = Symbol("quarantined");
export type Quarantined = typeof quarantined;

/** Shown for work that was quarantined. */
export const quarantineReason = "stopped: its worker crashed three times while processing this";

export type PoisonGuard = ReturnType<typeof poisonGuard>;

/** @param deps `onQuarantined`: called for work that this process finds to be deadly */
export function poisonGuard(deps: {
  redis: Redis;
  keys: Keys;
  workerRegistry: Pick<WorkerRegistry, "announce">;
  onQuarantined: (message: string) => void;
}) {
  const { redis, keys, workerRegistry, onQuarantined } = deps;
  const own = `${process.pid}-${randomBytes(6).toString("hex")}`;
  const begun = new Set<string>();
  let lastAlone: Promise<unknown> = Promise.resolve();
  let leave: Promise<() => Promise<void>> | undefined;

  /** A mark that Redis does not remove now is no death as long as this process lives. */
  const end = async (name: string): Promise<void> => {
    const removed = await redis.hdel(keys.workMarks(name), own).catch(() => undefined);
    if (removed !== undefined) begun.delete(name);
  };

  /**
   * Does a piece of work, unless three processes have died with it within a day.
   * @param name what is worked on and at which point; the next point has another name
   * @returns what the work returns; `quarantined` if it must not be done: the caller quarantines it
   * @throws errors of the work and of Redis
   */
  const run = async <T>(name: string, work: () => Promise<T>): Promise<T | Quarantined> => {
    leave ??= workerRegistry.announce(processes, own);
    await leave;
    const places = [keys.workMarks(name), keys.liveWorkers(processes)];
    if ((await beginScript.run(redis, places, [own, maxDeaths, deathCountsMs])) === "quarantined") {
      onQuarantined(`${name}: ${quarantineReason}`);
      return quarantined;
    }
    begun.add(name);
    try {
      return await work();
    } finally {
      await end(name);
    }
  };

  return {
    run,

    /** Runs work one piece at a time in this process, so that a crash has one possible cause. */
    runAlone<T>(name: string, work: () => Promise<T>): Promise<T | Quarantined> {
      const done = lastAlone.then(() => run(name, work));
      lastAlone = done.catch(() => undefined);
      return done;
    },

    /** Removes the marks of work that did not end in time. */
    async close(): Promise<void> {
      await Promise.all([...begun].map(end));
      await (
        await leave
      )?.();
    },
  };
}
