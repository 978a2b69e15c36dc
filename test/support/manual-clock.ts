/** A clock that stands still until a test moves it; both of its faces move together. */
import type { Clock } from "#core/time.ts";

export class ManualClock implements Clock {
  epochMs = Date.UTC(2026, 5, 1);
  nowMs = 0;
  #sleepers: { atMs: number; wake: () => void }[] = [];

  get sleepers(): number {
    return this.#sleepers.length;
  }

  wallMs(): number {
    return this.epochMs + this.nowMs;
  }

  monotonicMs(): number {
    return this.nowMs;
  }

  sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const sleeper = { atMs: this.nowMs + delayMs, wake: resolve };
      this.#sleepers.push(sleeper);
      signal?.addEventListener("abort", () => {
        this.#sleepers = this.#sleepers.filter((other) => other !== sleeper);
        reject(signal.reason as Error);
      });
    });
  }

  pass(ms: number): void {
    this.nowMs += ms;
    for (const { atMs, wake } of this.#sleepers) if (atMs <= this.nowMs) wake();
    this.#sleepers = this.#sleepers.filter(({ atMs }) => atMs > this.nowMs);
  }
}
