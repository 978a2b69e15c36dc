/**
 * Limits what is in progress at once in this process. A call waits here before it acquires a permit, so that a permit,
 * which counts as a spent call for every process, is never held by a call without a connection. Operations are served
 * round-robin: the single call of a sync does not queue behind hundreds of calls of a run.
 */
interface Waiter {
  readonly signal: AbortSignal | undefined;
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
}

export class Slots {
  #free: number;
  /** By operation, first come, first served; the first operation in the map is served next. */
  readonly #lines = new Map<string, Waiter[]>();

  constructor(count: number) {
    this.#free = count;
  }

  /**
   * Acquires a slot.
   * @param operation the queue to wait in
   * @returns undefined if one was free immediately
   * @throws the signal's reason if it aborts before a slot is free
   */
  enter(operation: string, signal?: AbortSignal): Promise<void> | undefined {
    if (this.#free > 0) {
      this.#free -= 1;
      return undefined;
    }
    const line = this.#lines.get(operation) ?? [];
    this.#lines.set(operation, line);
    // One listener for all calls of a segment: it is not added again, and one for each call would take time.
    signal?.addEventListener("abort", this.#drop, { once: true });
    return new Promise((resolve, reject) => line.push({ resolve, reject, signal }));
  }

  leave(): void {
    for (const [operation, line] of this.#lines) {
      const next = line.shift();
      this.#lines.delete(operation);
      if (next === undefined) continue; // all its waiters have left
      if (line.length > 0) this.#lines.set(operation, line);
      this.#unwatch(next.signal);
      return next.resolve();
    }
    this.#free += 1;
  }

  /** A signal keeps a listener, and is kept for it, no longer than a call waits. */
  #unwatch(signal: AbortSignal | undefined): void {
    for (const line of this.#lines.values()) if (line.some((one) => one.signal === signal)) return;
    signal?.removeEventListener("abort", this.#drop);
  }

  readonly #drop = ({ target }: Event): void => {
    const signal = target as AbortSignal;
    for (const [operation, line] of this.#lines) {
      const { dropped = [], kept = [] } = Object.groupBy(line, (one) => (one.signal === signal ? "dropped" : "kept"));
      this.#lines.set(operation, kept);
      for (const one of dropped) one.reject(signal.reason);
    }
  };
}
