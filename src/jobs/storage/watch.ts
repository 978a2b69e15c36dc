/** What a worker does for storage: sweeps every hour, and checks Redis's memory every minute. */
import { messageOf } from "#core/errors.ts";
import { every, minuteMs } from "#core/time.ts";
import type { StorageService } from "./service.ts";
import type { SweepReport } from "./sweep.ts";

export interface StorageReporter {
  readonly onSwept: (report: SweepReport) => void;
  readonly onProblem: (message: string) => void;
}

/** @returns a function that stops it, after the removal in progress */
export function watchStorage(
  storage: Pick<StorageService, "sweepIfDue" | "warnIfLow">,
  { onSwept, onProblem }: StorageReporter,
): () => Promise<void> {
  const stopping = new AbortController();
  let sweeping: Promise<void> | undefined;
  const sweepOnce = async (): Promise<void> => {
    try {
      const report = await storage.sweepIfDue(stopping.signal);
      if (report === undefined) return;
      onSwept(report);
      for (const problem of report.problems) onProblem(`not removed: ${problem}`);
    } catch (thrown) {
      if (!stopping.signal.aborted) onProblem(`old data could not be removed: ${messageOf(thrown)}`);
    }
  };
  const tick = (): void => {
    sweeping ??= sweepOnce().finally(() => {
      sweeping = undefined;
    });
    storage.warnIfLow().catch((thrown: unknown) => onProblem(`Redis's memory is unknown: ${messageOf(thrown)}`));
  };
  tick();
  const stopTicking = every(minuteMs, tick);
  return async () => {
    stopTicking();
    stopping.abort();
    await sweeping;
  };
}
