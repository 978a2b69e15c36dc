/**
 * Watches whether a run may still be processed, for all its segments in this process at once. Each reply of the ledger
 * contains the state, and while a segment is in progress the ledger is polled twice a second. So a pause, a cancel or
 * an abort stops every call that has not been sent, including those waiting for the quota; calls in flight end with
 * their response. Until the last of those calls has its outcome, this process holds a lease on the run in the ledger.
 * The start of a run that overlaps with it stops its calls in the same way, until the overlap is settled.
 */
import { randomBytes } from "node:crypto";
import { overlapSettler } from "../overlap.ts";
import { every, secondMs, systemClock } from "#core/time.ts";
import type { RunState } from "#fleet/run.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { leaseMs } from "../ledger/run-record.ts";

const pollIntervalMs = 500;
/** How often work waits for calls in flight of a run that overlaps, before it gives its place to others. */
const maxWaits = 20;
const waitMs = 100;
/** After this many lost responses in a row to calls that are unsafe to repeat, a run waits: the platform is down. */
const maxLost = 20;
const outageMs = 30 * secondMs;

interface Watched {
  readonly halt: AbortController;
  readonly stopPolling: () => void;
  readonly hands: Set<string>;
  /** When the leases were last renewed, on the monotonic clock. */
  heldAtMs: number;
  /** Number of rows without an outcome. */
  pending: number;
}

export class RunWatch {
  readonly #ledger: Ledger;
  readonly #settleOverlaps: ReturnType<typeof overlapSettler>;
  readonly #watched = new Map<string, Watched>();
  /** By run: lost responses in a row, and until when it waits because of them, on the monotonic clock. */
  readonly #lost = new Map<string, { readonly count: number; readonly untilMs: number }>();

  constructor(options: { ledger: Ledger }) {
    this.#ledger = options.ledger;
    this.#settleOverlaps = overlapSettler(options.ledger);
  }

  /**
   * Must be called when work on a segment starts.
   * @returns undefined if the run is not running; `yielding` if calls of a run that overlaps were in flight for two
   *   seconds; otherwise `halt`, which aborts as soon as the run may make no more calls, and `leave`, to be called when
   *   the work has ended and its outcomes are written
   */
  async enter(runId: string) {
    const hand = randomBytes(9).toString("base64url");
    for (let waits = 0; ; waits += 1) {
      const heldAtMs = systemClock.monotonicMs();
      const state = await this.#ledger.hold(runId, [hand]);
      if (state === "running") {
        const watched = this.#watched.get(runId) ?? this.#watch(runId, heldAtMs);
        watched.hands.add(hand);
        return { halt: watched.halt.signal, leave: () => this.#leave(runId, watched, hand) };
      }
      if (state !== "yielding") return undefined;
      if (await this.#settleOverlaps(runId)) continue;
      if (waits === maxWaits) return "yielding";
      await systemClock.sleep(waitMs);
    }
  }

  /** Whether the leases are valid; they are not when this process stood still, so that others may have gone on. */
  isHeld(runId: string): boolean {
    const watched = this.#watched.get(runId);
    return watched !== undefined && isLeased(watched, systemClock.monotonicMs());
  }

  /** Number of rows of the run without an outcome, as last reported by the ledger to any segment of this process. */
  pendingOf(runId: string): number {
    return this.#watched.get(runId)?.pending ?? 0;
  }

  /** Records a run's state, and its number of rows without an outcome, as reported by the ledger. */
  observe(runId: string, state: RunState | "gone" | "yielding", pending: number): void {
    const watched = this.#watched.get(runId);
    if (watched === undefined) return;
    // It only decreases, so replies that arrive out of order do no harm.
    watched.pending = Math.min(watched.pending, pending);
    if (state === "running") return;
    // Work that starts later has seen the run running again: it gets its own watch.
    this.#watched.delete(runId);
    watched.halt.abort(new Error(`the run is ${state}`));
  }

  /** Counts a lost response to a call unsafe to repeat. @returns how long the run waits now, ms; 0 if it continues */
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

  /** How long no segment of the run may make a call, ms. After that time the next lost response lets it wait again. */
  outageMs(runId: string): number {
    return Math.max(0, (this.#lost.get(runId)?.untilMs ?? 0) - systemClock.monotonicMs());
  }

  #watch(runId: string, heldAtMs: number): Watched {
    const hands = new Set<string>();
    const poll = async (): Promise<void> => {
      const atMs = systemClock.monotonicMs();
      const wasHeld = isLeased(watched, atMs);
      const pendingRows = this.#ledger.pending(runId).catch(() => Infinity);
      const [state, pending] = await Promise.all([this.#ledger.hold(runId, [...hands]), pendingRows]);
      // While this process stood still, a newer run may have come and gone.
      this.observe(runId, wasHeld ? state : "yielding", pending);
      watched.heldAtMs = atMs;
    };
    const stopPolling = every(pollIntervalMs, () => void poll().catch(() => undefined));
    const watched = { halt: new AbortController(), stopPolling, hands, heldAtMs, pending: Infinity };
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

function isLeased({ heldAtMs }: Watched, atMs: number): boolean {
  return atMs - heldAtMs < leaseMs;
}
