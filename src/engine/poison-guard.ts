/**
 * Finds work that kills its worker. A process marks a piece of work in Redis before it starts, and removes the mark when the
 * work ends in any way, also with an error or a stop of the process. A mark whose process is gone is a death. After three
 * deaths the work is not started again: its feature quarantines it, with a reason, until a user releases it. Work that makes
 * progress has a new name, such as its next state, so only deaths at the same point count. Of work that is done side by side,
 * such as the rows of runs, suspects are done alone, one after the other.
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

export class PoisonGuard {
  readonly #redis: Redis;
  readonly #keys: Keys;
  readonly #registry: Pick<WorkerRegistry, "announce">;
  readonly #onQuarantined: (message: string) => void;
  readonly #process = `${process.pid}-${randomBytes(6).toString("hex")}`;
  readonly #begun = new Set<string>();
  #lastAlone: Promise<unknown> = Promise.resolve();
  #leave: Promise<() => Promise<void>> | undefined;

  /** @param deps `onQuarantined`: called for work that this process finds to be deadly */
  constructor(deps: {
    redis: Redis;
    keys: Keys;
    workerRegistry: Pick<WorkerRegistry, "announce">;
    onQuarantined: (message: string) => void;
  }) {
    this.#redis = deps.redis;
    this.#keys = deps.keys;
    this.#registry = deps.workerRegistry;
    this.#onQuarantined = deps.onQuarantined;
  }

  /**
   * Does a piece of work, unless three processes have died with it within a day.
   * @param name what is worked on and at which point; the next point has another name
   * @returns what the work returns; `quarantined` if it must not be done: the caller quarantines it
   * @throws errors of the work and of Redis
   */
  async run<T>(name: string, work: () => Promise<T>): Promise<T | Quarantined> {
    this.#leave ??= this.#registry.announce(processes, this.#process);
    await this.#leave;
    const keys = [this.#keys.workMarks(name), this.#keys.liveWorkers(processes)];
    if ((await beginScript.run(this.#redis, keys, [this.#process, maxDeaths, deathCountsMs])) === "quarantined") {
      this.#onQuarantined(`${name}: ${quarantineReason}`);
      return quarantined;
    }
    this.#begun.add(name);
    try {
      return await work();
    } finally {
      await this.#end(name);
    }
  }

  /** Runs work one piece at a time in this process, so that a crash has one possible cause. */
  runAlone<T>(name: string, work: () => Promise<T>): Promise<T | Quarantined> {
    const end = this.#lastAlone.then(() => this.run(name, work));
    this.#lastAlone = end.catch(() => undefined);
    return end;
  }

  /** Removes the marks of work that did not end in time. */
  async close(): Promise<void> {
    await Promise.all([...this.#begun].map((name) => this.#end(name)));
    await (
      await this.#leave
    )?.();
  }

  /** A mark that Redis does not remove now is no death as long as this process lives. */
  async #end(name: string): Promise<void> {
    const removed = await this.#redis.hdel(this.#keys.workMarks(name), this.#process).catch(() => undefined);
    if (removed !== undefined) this.#begun.delete(name);
  }
}
