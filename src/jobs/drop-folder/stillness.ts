/**
 * Whether a file has stood still: it has looked the same for long enough, each time it was looked at. Nobody can see from
 * outside that a writer is done; standing still is what can be seen on every file system, network mounts included. Only
 * this process's own clock counts, so that the times of files may come from any other.
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

  /** Notes how a file looks now. @returns whether it has looked so for long enough */
  isStill(name: string, fingerprint: string): boolean {
    const nowMs = this.#clock.monotonicMs();
    const before = this.#sights.get(name);
    if (before?.fingerprint === fingerprint) return nowMs - before.sinceMs >= this.#settleMs;
    this.#sights.set(name, { fingerprint, sinceMs: nowMs });
    return false;
  }

  /** Forgets what is no longer there. */
  keepOnly(names: ReadonlySet<string>): void {
    this.#sights = new Map([...this.#sights].filter(([name]) => names.has(name)));
  }
}
