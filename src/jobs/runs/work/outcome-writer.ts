/**
 * Writes outcomes to the ledger in order of arrival: those that arrive during one write are batched into the next. A caller
 * waits until its outcome is written, so that a crash repeats no more than the calls in flight.
 */
import { yieldToEventLoop } from "#core/time.ts";
import type { RunState } from "#fleet/run.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { Settlement } from "../ledger/settlement.ts";
import type { RunHead } from "../ledger/run-record.ts";
import type { RunWatch } from "./run-watch.ts";

interface OutcomeDeps {
  readonly ledger: Ledger;
  readonly run: Pick<RunHead, "runId" | "profile">;
  readonly segment: number;
  readonly watch: RunWatch;
}

export class OutcomeWriter {
  /** The run's state as last reported by the ledger. */
  state: RunState | "gone" = "running";
  hasEndedWave = false;
  readonly #deps: OutcomeDeps;
  readonly #open: Settlement[] = [];
  #counts = { calls: 0, throttled: 0 };
  #writing: Promise<void> | undefined;

  constructor(deps: OutcomeDeps) {
    this.#deps = deps;
  }

  /** Counts a call, whatever its result; the count is written with the next outcomes. */
  countCall(answer?: "throttled"): void {
    this.#counts.calls += 1;
    if (answer === "throttled") this.#counts.throttled += 1;
  }

  /** Resolves when the outcome is written. */
  async settle(settlement: Settlement): Promise<void> {
    this.#open.push(settlement);
    // The write in progress does not contain this outcome: wait for it, then for the next.
    await this.#writing;
    if (this.#open.length > 0) await this.#write();
    else await this.#writing;
  }

  /** Writes what is left, including call counts; also refreshes the run's state. */
  async flush(): Promise<void> {
    await this.#writing;
    await this.#write();
  }

  #write(): Promise<void> {
    this.#writing ??= this.#writeNow().finally(() => {
      this.#writing = undefined;
    });
    return this.#writing;
  }

  async #writeNow(): Promise<void> {
    await yieldToEventLoop(); // lets outcomes of the same event loop iteration join
    const { ledger, run, segment, watch } = this.#deps;
    const counts = this.#counts;
    this.#counts = { calls: 0, throttled: 0 };
    const { state, pending, hasEndedWave } = await ledger.settle(run, segment, this.#open.splice(0), counts);
    this.state = state;
    this.hasEndedWave ||= hasEndedWave;
    watch.observe(run.runId, state, pending);
  }
}
