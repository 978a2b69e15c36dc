/**
 * At most so many calls in flight in this process. A call waits here before it takes a permit, so that a permit, which
 * counts as a spent call for every process, is never held by a call that has no connection. Operations take turns: a
 * sync's one call does not stand in line behind the hundreds of a run.
 */
export class Slots {
  #free: number;
  /** By operation, first come, first served; the operation at the front of the map has the next turn. */
  readonly #lines = new Map<string, (() => void)[]>();

  constructor(count: number) {
    this.#free = count;
  }

  /**
   * Takes a slot.
   * @param operation whose line it is
   * @returns undefined when one was free at once
   * @throws the signal's reason when it aborts before a slot is free
   */
  enter(operation: string, signal?: AbortSignal): Promise<void> | undefined {
    if (this.#free > 0) {
      this.#free -= 1;
      return undefined;
    }
    const line = this.#lines.get(operation) ?? [];
    this.#lines.set(operation, line);
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        line.splice(line.indexOf(take), 1);
        reject(signal?.reason);
      };
      const take = (): void => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      line.push(take);
    });
  }

  leave(): void {
    for (const [operation, line] of this.#lines) {
      const next = line.shift();
      this.#lines.delete(operation);
      if (next === undefined) continue; // everybody in it has gone away
      if (line.length > 0) this.#lines.set(operation, line);
      return next();
    }
    this.#free += 1;
  }
}
