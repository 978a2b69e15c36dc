/**
 * The time that a call may wait for its turn: for a permit, for a pair, and after a 429. The limiter refuses a longer wait than
 * about 2 s, so the call sleeps until the refresh and asks again.
 */
import { PlatformError, SimfleetError } from "#core/errors.ts";
import { type Clock, secondMs } from "#core/time.ts";

export class Turn {
  /** Aborts at the end of the time, when the caller disconnects, and when the gateway closes. */
  readonly signal: AbortSignal;
  readonly #clock: Clock;
  readonly #over = new AbortController();
  readonly #done = new AbortController();
  /** When the quota refreshes, as far as it is known. */
  #refreshAtMs = 0;

  constructor({ clock, maxWaitMs, signals }: { clock: Clock; maxWaitMs: number; signals: readonly AbortSignal[] }) {
    this.#clock = clock;
    this.signal = AbortSignal.any([this.#over.signal, ...signals]);
    clock.sleep(maxWaitMs, this.#done.signal).then(
      () => this.#over.abort(this.tooLong(maxWaitMs)),
      () => undefined,
    );
  }

  /** Asks again after each refresh. @throws whatever `ask` throws otherwise; the signal's reason */
  async wait<T>(ask: (signal: AbortSignal) => Promise<T>): Promise<T> {
    while (true) {
      this.signal.throwIfAborted();
      try {
        return await ask(this.signal);
      } catch (thrown) {
        if (!(thrown instanceof PlatformError) || thrown.code !== "PLATFORM_THROTTLED") throw thrown;
        const waitMs = Math.max(1, thrown.retryAfterMs ?? secondMs);
        this.#refreshAtMs = this.#clock.monotonicMs() + waitMs;
        await this.#clock.sleep(waitMs, this.signal);
      }
    }
  }

  /** The refusal of a call that has waited for long enough, with the time until the refresh. */
  tooLong(waitedMs: number): SimfleetError {
    const retryAfterMs = Math.max(secondMs, this.#refreshAtMs - this.#clock.monotonicMs());
    const message = `The call waited ${waitedMs / secondMs} s for the quota and was not sent. Try again after the reset.`;
    return new SimfleetError("PLATFORM_THROTTLED", message, { retryAfterMs });
  }

  end(): void {
    this.#done.abort();
  }
}
