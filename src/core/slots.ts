/**
 * Limits what is in progress at once in this process. A call waits here before it acquires a permit, so that a permit, which
 * counts as a spent call for every process, is never held by a call without a connection. Operations are served
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
  /** Signals of waiters, with their number: one listener for all calls of a segment, since one for each call takes time. */
  readonly #watched = new Map<AbortSignal, { waiters: number; readonly onAbort: () => void }>();

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
    if (signal !== undefined) this.#noteWaiter(signal);
    return new Promise((resolve, reject) => line.push({ resolve, reject, signal }));
  }

  leave(): void {
    for (const [operation, line] of this.#lines) {
      const next = line.shift();
      this.#lines.delete(operation);
      if (next === undefined) continue; // all its waiters have left
      if (line.length > 0) this.#lines.set(operation, line);
      if (next.signal !== undefined) this.#noteServed(next.signal);
      return next.resolve();
    }
    this.#free += 1;
  }

  #noteWaiter(signal: AbortSignal): void {
    const watched = this.#watched.get(signal);
    if (watched !== undefined) {
      watched.waiters += 1;
      return;
    }
    const onAbort = (): void => this.#drop(signal);
    signal.addEventListener("abort", onAbort, { once: true });
    this.#watched.set(signal, { waiters: 1, onAbort });
  }

  /** A signal keeps a listener, and is kept for it, no longer than a call waits. */
  #noteServed(signal: AbortSignal): void {
    const watched = this.#watched.get(signal);
    if (watched === undefined) return;
    watched.waiters -= 1;
    if (watched.waiters > 0) return;
    signal.removeEventListener("abort", watched.onAbort);
    this.#watched.delete(signal);
  }

  #drop(signal: AbortSignal): void {
    this.#watched.delete(signal);
    for (const [operation, line] of this.#lines) {
      this.#lines.set(
        operation,
        line.filter((one) => one.signal !== signal),
      );
      for (const one of line) if (one.signal === signal) one.reject(signal.reason);
    }
  }
}
