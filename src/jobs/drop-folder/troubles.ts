/** Work that failed and is tried again, each time later: what went wrong is told when it begins or becomes another. */
import { backoffMs } from "#core/backoff.ts";
import { messageOf } from "#core/errors.ts";
import type { Clock } from "#core/time.ts";

const pauses = { baseMs: 2_000, capMs: 60_000 };

interface Incident {
  /** What tells it from another: a code where it has one, since messages name files. */
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

  /** Does the work unless its pause is not over; what it throws is told and pauses it. @returns whether it was done */
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

  /** Forgets what is no longer there. */
  keepOnly(names: ReadonlySet<string>): void {
    this.#incidents = new Map([...this.#incidents].filter(([name]) => names.has(name)));
  }
}

function kindOf(thrown: unknown): string {
  const hasCode = thrown instanceof Error && "code" in thrown && typeof thrown.code === "string";
  return hasCode ? (thrown.code as string) : messageOf(thrown);
}
