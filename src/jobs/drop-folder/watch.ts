/** Polls a drop folder until stopped. It polls because network mounts do not notify about new files. */
import { messageOf } from "#core/errors.ts";
import { type Clock, secondMs } from "#core/time.ts";
import type { DropFolderWork } from "./work.ts";

const pollIntervalMs = 2 * secondMs;

export class DropFolderWatch {
  readonly #stopping = new AbortController();
  readonly #watching: Promise<void>;

  /** @param options `pollIntervalMs`: pause between two polls, 2 s by default */
  constructor(
    work: Pick<DropFolderWork, "round">,
    deps: { clock: Clock; onIncident: (message: string) => void; pollIntervalMs?: number },
  ) {
    this.#watching = this.#watch(work, deps);
  }

  /** Stops after the current file. */
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
