/**
 * Pauses, resumes, approves and cancels runs. The transitions of a run are
 *   running -> paused (pause)            paused -> running (resume)
 *   awaiting-approval -> running (approve, by another user)
 *   running | paused | awaiting-approval -> cancelled (cancel)
 * and those caused by its own rows (settle.lua): completed, aborted. Workers notice a transition with the next outcome.
 */
import { SimfleetError } from "#core/errors.ts";
import type { Clock } from "#core/time.ts";
import { isRunOver } from "#fleet/run.ts";
import type { Queues } from "./work/queues.ts";
import type { Ledger } from "./ledger/ledger.ts";
import { readWhenEnded } from "./ended-run.ts";

export class RunControl {
  readonly #ledger: Ledger;
  readonly #queues: Queues;
  readonly #clock: Clock;

  constructor(deps: { ledger: Ledger; queues: Queues; clock: Clock }) {
    this.#ledger = deps.ledger;
    this.#clock = deps.clock;
    this.#queues = deps.queues;
  }

  /** Stops making calls; calls in flight end and are settled. */
  async pause(runId: string, options: { readonly reason?: string; readonly by?: string } = {}): Promise<void> {
    await this.#ledger.move(runId, "paused", ["running", "paused"], options);
  }

  /** Resumes the run where it was paused. Also skips pending retry delays. */
  async resume(runId: string, options: { readonly by?: string } = {}): Promise<void> {
    const run = await this.#ledger.run(runId);
    if (isRunOver(run.state)) {
      throw new SimfleetError(
        "RUN_STATE",
        `Run ${runId} is ${run.state} and cannot be resumed: retry its unsuccessful rows with simfleet runs retry ${runId}`,
      );
    }
    await this.#ledger.move(runId, "running", ["paused", "running"], options);
    await this.#queues.enqueue(await this.#ledger.run(runId), "now");
  }

  /**
   * Starts a run that awaits approval.
   * @param by who approves; must differ from who submitted the run
   * @throws SimfleetError RUN_STATE
   */
  async approve(runId: string, by: string): Promise<void> {
    const { submittedBy, state } = await this.#ledger.run(runId);
    if (state === "awaiting-approval" && submittedBy === by) {
      throw new SimfleetError(
        "RUN_STATE",
        `Run ${runId} was submitted by ${by}: someone else has to approve it (simfleet runs approve ${runId})`,
      );
    }
    await this.#ledger.move(runId, "running", ["awaiting-approval"], { by });
    await this.#queues.enqueue(await this.#ledger.run(runId));
  }

  /** Ends the run: rows not yet sent are left unchanged. Waits some seconds for calls in flight. */
  async cancel(runId: string, options: { readonly reason?: string; readonly by?: string } = {}): Promise<void> {
    const { reason = "cancelled by a user" } = options;
    await this.#ledger.move(runId, "cancelled", ["running", "paused", "awaiting-approval"], { ...options, reason });
    await readWhenEnded(runId, { ledger: this.#ledger, clock: this.#clock });
  }
}
