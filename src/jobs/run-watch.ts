/**
 * Whether a run may still be worked on, for all its segments in this process at once. Each reply of the ledger tells,
 * and while a segment is under way the ledger is asked twice a second. So a pause, a cancel or an abort keeps back every
 * call that has not gone out, also those that are in line for the quota; what is out ends with its answer.
 */
import { every } from "#core/time.ts";
import type { RunState } from "#fleet/run.ts";
import type { Ledger } from "#store/ledger.ts";

const lookEveryMs = 500;

interface Watched {
  readonly halt: AbortController;
  readonly stopLooking: () => void;
  segments: number;
}

export class RunWatch {
  readonly #ledger: Pick<Ledger, "state">;
  readonly #watched = new Map<string, Watched>();

  constructor(options: { ledger: Pick<Ledger, "state"> }) {
    this.#ledger = options.ledger;
  }

  /**
   * To be called when work on a segment begins, while the run is running.
   * @returns `halt` aborts as soon as the run is seen not to be running; `leave` is to be called when the work has ended
   */
  enter(runId: string): { readonly halt: AbortSignal; readonly leave: () => void } {
    const watched = this.#watched.get(runId) ?? this.#watch(runId);
    watched.segments += 1;
    return { halt: watched.halt.signal, leave: () => this.#leave(runId, watched) };
  }

  /** What the ledger said of a run's state. */
  told(runId: string, state: RunState | "gone"): void {
    const watched = this.#watched.get(runId);
    if (state === "running" || watched === undefined) return;
    // Work that begins after this has seen the run running again: it gets a watch of its own.
    this.#watched.delete(runId);
    watched.stopLooking();
    watched.halt.abort(new Error(`the run is ${state}`));
  }

  #watch(runId: string): Watched {
    const look = async (): Promise<void> => this.told(runId, await this.#ledger.state(runId));
    const stopLooking = every(lookEveryMs, () => void look().catch(() => undefined));
    const watched = { halt: new AbortController(), stopLooking, segments: 0 };
    this.#watched.set(runId, watched);
    return watched;
  }

  #leave(runId: string, watched: Watched): void {
    watched.segments -= 1;
    if (watched.segments > 0) return;
    watched.stopLooking();
    if (this.#watched.get(runId) === watched) this.#watched.delete(runId);
  }
}
