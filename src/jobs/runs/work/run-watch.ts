/**
 * Whether a run may still be worked on, for all its segments in this process at once. Each reply of the ledger tells,
 * and while a segment is under way the ledger is asked twice a second. So a pause, a cancel or an abort keeps back every
 * call that has not gone out, also those that are in line for the quota; what is out ends with its answer. The ledger in
 * turn is told that this process has its hands on the run, until the last of those calls has its outcome.
 */
import { randomBytes } from "node:crypto";
import { every } from "#core/time.ts";
import type { RunState } from "#fleet/run.ts";
import type { Ledger } from "../ledger/ledger.ts";

const pollIntervalMs = 500;

interface Watched {
  readonly halt: AbortController;
  readonly stopPolling: () => void;
  readonly hands: Set<string>;
}

export class RunWatch {
  readonly #ledger: Pick<Ledger, "hold" | "release">;
  readonly #watched = new Map<string, Watched>();

  constructor(options: { ledger: Pick<Ledger, "hold" | "release"> }) {
    this.#ledger = options.ledger;
  }

  /**
   * To be called when work on a segment begins.
   * @returns undefined when the run is not running; else `halt`, which aborts as soon as it is seen not to be, and `leave`,
   *   to be called when the work has ended and its outcomes are written
   */
  async enter(runId: string): Promise<{ readonly halt: AbortSignal; readonly leave: () => Promise<void> } | undefined> {
    const hand = randomBytes(9).toString("base64url");
    if ((await this.#ledger.hold(runId, [hand])) !== "running") return undefined;
    const watched = this.#watched.get(runId) ?? this.#watch(runId);
    watched.hands.add(hand);
    return { halt: watched.halt.signal, leave: () => this.#leave(runId, watched, hand) };
  }

  /** What the ledger said of a run's state. */
  observe(runId: string, state: RunState | "gone"): void {
    const watched = this.#watched.get(runId);
    if (state === "running" || watched === undefined) return;
    // Work that begins after this has seen the run running again: it gets a watch of its own.
    this.#watched.delete(runId);
    watched.halt.abort(new Error(`the run is ${state}`));
  }

  #watch(runId: string): Watched {
    const hands = new Set<string>();
    const poll = async (): Promise<void> => this.observe(runId, await this.#ledger.hold(runId, [...hands]));
    const stopPolling = every(pollIntervalMs, () => void poll().catch(() => undefined));
    const watched = { halt: new AbortController(), stopPolling, hands };
    this.#watched.set(runId, watched);
    return watched;
  }

  async #leave(runId: string, watched: Watched, hand: string): Promise<void> {
    watched.hands.delete(hand);
    if (watched.hands.size === 0) {
      watched.stopPolling();
      if (this.#watched.get(runId) === watched) this.#watched.delete(runId);
    }
    // Where Redis does not answer, the hand is believed for some seconds more.
    await this.#ledger.release(runId, hand).catch(() => undefined);
  }
}
