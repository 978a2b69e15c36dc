/**
 * Hands on a run's life: pause, resume, cancel. A run's moves are
 *   running -> paused (pause)            paused -> running (resume)
 *   awaiting-approval -> running (approve, by somebody else)
 *   running | paused | awaiting-approval -> cancelled (cancel)
 * and those that its own rows bring about (settle.lua): completed, aborted. Work notices a move with the next outcome.
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

  /** No new call is made; those in flight end and are settled. */
  async pause(runId: string, how: { readonly reason?: string; readonly by?: string } = {}): Promise<void> {
    await this.#ledger.move(runId, "paused", ["running", "paused"], how);
  }

  /** Goes on where the run stood; also takes up segments again whose machinery had failed, and waits no longer. */
  async resume(runId: string, how: { readonly by?: string } = {}): Promise<void> {
    const run = await this.#ledger.run(runId);
    if (isRunOver(run.state)) {
      throw new SimfleetError(
        "RUN_STATE",
        `Run ${runId} is ${run.state} and cannot be resumed: retry its unsuccessful rows with simfleet runs retry ${runId}`,
      );
    }
    await this.#ledger.move(runId, "running", ["paused", "running"], how);
    await this.#queues.enqueue(await this.#ledger.run(runId), "now");
  }

  /**
   * Lets a run begin that waits for it.
   * @param by who approves; it has to be somebody else than who submitted it
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

  /** Ends the run: rows without a call stay as they are. Calls that are out are waited for, for some seconds. */
  async cancel(runId: string, how: { readonly reason?: string; readonly by?: string } = {}): Promise<void> {
    const { reason = "cancelled by a user" } = how;
    await this.#ledger.move(runId, "cancelled", ["running", "paused", "awaiting-approval"], { ...how, reason });
    await readWhenEnded(runId, { ledger: this.#ledger, clock: this.#clock });
  }
}
