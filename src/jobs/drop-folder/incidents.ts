/** Retries failed work with growing delays; reports an error when it first occurs or changes. */
import { backoffMs } from "#core/backoff.ts";
import { messageOf } from "#core/errors.ts";
import type { Clock } from "#core/time.ts";

const pauses = { baseMs: 2_000, capMs: 60_000 };

interface Incident {
  /** Distinguishes errors: the code if there is one, since messages contain file names. */
  readonly kind: string;
  readonly tries: number;
  readonly againAtMs: number;
}

export class Incidents {
  readonly #clock: Clock;
  readonly #emit: (message: string) => void;
  #incidents = new Map<string, Incident>();

  constructor({ clock, emit }: { clock: Clock; emit: (message: string) => void }) {
    this.#clock = clock;
    this.#emit = emit;
  }

  /** Does the work unless it is delayed; an error is reported and delays the next attempt. @returns whether it succeeded */
  async try(what: string, work: () => Promise<void>): Promise<boolean> {
    const before = this.#incidents.get(what);
    if (before !== undefined && this.#clock.monotonicMs() < before.againAtMs) return false;
    try {
      await work();
      this.#incidents.delete(what);
      return true;
    } catch (thrown) {
      const kind = kindOf(thrown);
      const tries = (before?.tries ?? 0) + 1;
      this.#incidents.set(what, { kind, tries, againAtMs: this.#clock.monotonicMs() + backoffMs(pauses, tries) });
      if (before?.kind !== kind) this.#emit(`${what}: ${messageOf(thrown)} (it is tried again)`);
      return false;
    }
  }

  /** Forgets work that no longer exists. */
  keepOnly(names: ReadonlySet<string>): void {
    this.#incidents = new Map([...this.#incidents].filter(([name]) => names.has(name)));
  }
}

function kindOf(thrown: unknown): string {
  const hasCode = thrown instanceof Error && "code" in thrown && typeof thrown.code === "string";
  return hasCode ? (thrown.code as string) : messageOf(thrown);
}
