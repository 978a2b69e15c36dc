/** Looks through a drop folder again and again until it is stopped. It asks, since a network mount tells nobody of new files. */
import { messageOf } from "#core/errors.ts";
import { type Clock, secondMs } from "#core/time.ts";
import type { DropFolderWork } from "./work.ts";

const pollIntervalMs = 2 * secondMs;

export class DropFolderWatch {
  readonly #stopping = new AbortController();
  readonly #watching: Promise<void>;

  /** @param house `lookEveryMs`: pause between two looks, 2 s by default */
  constructor(
    work: Pick<DropFolderWork, "round">,
    deps: { clock: Clock; onIncident: (message: string) => void; pollIntervalMs?: number },
  ) {
    this.#watching = this.#watch(work, deps);
  }

  /** Ends with the file that it is at. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error("this process is stopping"));
    await this.#watching;
  }

  async #watch(
    work: Pick<DropFolderWork, "round">,
    { clock, onIncident, pollIntervalMs: pauseMs = pollIntervalMs }: ConstructorParameters<typeof DropFolderWatch>[1],
  ): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await work.round(signal).catch((thrown: unknown) => onIncident(messageOf(thrown)));
      await clock.sleep(pauseMs, signal).catch(() => undefined);
    }
  }
}
