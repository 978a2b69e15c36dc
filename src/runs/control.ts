/**
 * Hands on a run's life: pause, resume, cancel. A run's moves are
 *   running -> paused (pause)            paused -> running (resume)
 *   running | paused -> cancelled (cancel)
 * and those that its own rows bring about (settle.lua): completed, aborted. Work notices a move with the next outcome.
 */
import { SimfleetError } from "#core/errors.ts";
import { isRunOver } from "#fleet/run.ts";
import type { Queues } from "#queue/queues.ts";
import type { Ledger } from "#store/ledger.ts";

export class RunControl {
  readonly #ledger: Ledger;
  readonly #queues: Queues;

  constructor(house: { ledger: Ledger; queues: Queues }) {
    this.#ledger = house.ledger;
    this.#queues = house.queues;
  }

  /** No new call is made; those in flight end and are settled. */
  async pause(runId: string, reason = ""): Promise<void> {
    await this.#ledger.move(runId, "paused", ["running", "paused"], reason);
  }

  /** Goes on where the run stood; also takes up segments again whose machinery had failed, and waits no longer. */
  async resume(runId: string): Promise<void> {
    const run = await this.#ledger.run(runId);
    if (isRunOver(run.state)) {
      throw new SimfleetError(
        "RUN_STATE",
        `Run ${runId} is ${run.state} and cannot go on: redo its unsuccessful rows with simfleet runs retry ${runId}`,
      );
    }
    await this.#ledger.move(runId, "running", ["paused", "running"]);
    await this.#queues.enqueue(await this.#ledger.run(runId), "now");
  }

  /** Ends the run: rows without a call stay as they are. */
  async cancel(runId: string): Promise<void> {
    await this.#ledger.move(runId, "cancelled", ["running", "paused", "awaiting-approval"], "cancelled by a person");
  }
}
