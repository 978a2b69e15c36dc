/**
 * Detects when a file is complete: its fingerprint was the same in every poll for long enough. No file system shows whether a
 * writer has finished; an unchanged file can be detected on all of them, including network mounts. Only this process's
 * clock is used, so the files' times may come from any other clock.
 */
import type { Clock } from "#core/time.ts";

interface Sight {
  readonly fingerprint: string;
  readonly sinceMs: number;
}

export class Stillness {
  readonly #clock: Clock;
  readonly #settleMs: number;
  #sights = new Map<string, Sight>();

  constructor({ clock, settleMs }: { clock: Clock; settleMs: number }) {
    this.#clock = clock;
    this.#settleMs = settleMs;
  }

  /** Records the current fingerprint of a file. @returns whether it has been unchanged for long enough */
  isStill(name: string, fingerprint: string): boolean {
    const nowMs = this.#clock.monotonicMs();
    const before = this.#sights.get(name);
    if (before?.fingerprint === fingerprint) return nowMs - before.sinceMs >= this.#settleMs;
    this.#sights.set(name, { fingerprint, sinceMs: nowMs });
    return false;
  }

  /** Forgets files that no longer exist. */
  keepOnly(names: ReadonlySet<string>): void {
    this.#sights = new Map([...this.#sights].filter(([name]) => names.has(name)));
  }
}
