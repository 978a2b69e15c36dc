/**
 * Watches whether a run may still be processed, for all its segments in this process at once. Each reply of the ledger
 * contains the state, and while a segment is in progress the ledger is polled twice a second. So a pause, a cancel or an
 * abort stops every call that has not been sent, including those waiting for the quota; calls in flight end with their
 * response. Until the last of those calls has its outcome, this process holds a lease on the run in the ledger.
 */
import { randomBytes } from "node:crypto";
import { every, secondMs, systemClock } from "#core/time.ts";
import type { RunState } from "#fleet/run.ts";
import type { Ledger } from "../ledger/ledger.ts";

const pollIntervalMs = 500;
/** After this many lost answers in a row to calls that must not be repeated, a run waits: the platform is down. */
const maxLost = 20;
const outageMs = 30 * secondMs;

interface Watched {
  readonly halt: AbortController;
  readonly stopPolling: () => void;
  readonly hands: Set<string>;
}

export class RunWatch {
  readonly #ledger: Pick<Ledger, "hold" | "release">;
  readonly #watched = new Map<string, Watched>();
  /** By run: lost answers in a row, and until when it waits because of them, on the monotonic clock. */
  readonly #lost = new Map<string, { readonly count: number; readonly untilMs: number }>();

  constructor(options: { ledger: Pick<Ledger, "hold" | "release"> }) {
    this.#ledger = options.ledger;
  }

  /**
   * Must be called when work on a segment begins.
   * @returns undefined if the run is not running; otherwise `halt`, which aborts as soon as the run stops running, and
   *   `leave`, to be called when the work has ended and its outcomes are written
   */
  async enter(runId: string): Promise<{ readonly halt: AbortSignal; readonly leave: () => Promise<void> } | undefined> {
    const hand = randomBytes(9).toString("base64url");
    if ((await this.#ledger.hold(runId, [hand])) !== "running") return undefined;
    const watched = this.#watched.get(runId) ?? this.#watch(runId);
    watched.hands.add(hand);
    return { halt: watched.halt.signal, leave: () => this.#leave(runId, watched, hand) };
  }

  /** Records a run's state as reported by the ledger. */
  observe(runId: string, state: RunState | "gone"): void {
    const watched = this.#watched.get(runId);
    if (state === "running" || watched === undefined) return;
    // Work that begins later has seen the run running again: it gets its own watch.
    this.#watched.delete(runId);
    watched.halt.abort(new Error(`the run is ${state}`));
  }

  /** Counts a lost answer to a call that must not be repeated. @returns how long the run waits now, ms; 0 if it continues */
  noteLost(runId: string): number {
    const { count = 0 } = this.#lost.get(runId) ?? {};
    const untilMs = count + 1 < maxLost ? 0 : systemClock.monotonicMs() + outageMs;
    this.#lost.set(runId, { count: count + 1, untilMs });
    return untilMs === 0 ? 0 : outageMs;
  }

  /** The platform has answered a call of the run. */
  noteAnswered(runId: string): void {
    this.#lost.delete(runId);
  }

  /** How long no segment of the run may make a call, ms. After that time the next lost answer lets it wait again. */
  outageMs(runId: string): number {
    return Math.max(0, (this.#lost.get(runId)?.untilMs ?? 0) - systemClock.monotonicMs());
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
    // If Redis does not answer, the lease expires after some seconds.
    await this.#ledger.release(runId, hand).catch(() => undefined);
  }
}
