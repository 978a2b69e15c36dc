/**
 * One contract for start and stop: whatever was opened is stopped in reverse order, each stop within the remainder of
 * one deadline. A stop that hangs or fails is reported and does not block the others.
 */
import { messageOf } from "../errors.ts";
import { inTime, systemClock } from "../time.ts";

export class Lifecycle {
  readonly #stops: { name: string; stop: () => Promise<void> | void }[] = [];
  #stopping: Promise<string[]> | undefined;

  /** Registers how to stop what was just opened. */
  onStop(name: string, stop: () => Promise<void> | void): void {
    this.#stops.push({ name, stop });
  }

  /**
   * Stops everything once; later calls return the same promise.
   * @returns one line for each part that failed or did not stop in time; empty on success
   */
  stop(deadlineMs = 30_000): Promise<string[]> {
    this.#stopping ??= this.#stopAll(deadlineMs);
    return this.#stopping;
  }

  async #stopAll(deadlineMs: number): Promise<string[]> {
    const problems: string[] = [];
    const endMs = systemClock.monotonicMs() + deadlineMs;
    for (const { name, stop } of this.#stops.toReversed()) {
      const leftMs = Math.max(50, endMs - systemClock.monotonicMs());
      try {
        const stopped = await inTime(systemClock, leftMs, Promise.resolve().then(stop));
        if (stopped === undefined) problems.push(`${name}: not stopped within ${Math.round(leftMs)} ms`);
      } catch (thrown) {
        problems.push(`${name}: ${messageOf(thrown)}`);
      }
    }
    return problems;
  }
}
