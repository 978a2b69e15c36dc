/**
 * Pauses work that changes the platform during a freeze: it does not start, and work in progress makes no further call; a
 * call in flight ends with its response. The queue checks every few seconds, so ending a manual freeze takes effect almost
 * at once.
 */
import { type Clock, every, secondMs } from "#core/time.ts";
import type { Freeze } from "#fleet/freeze.ts";
import type { Interruption } from "#engine/queue/job-result.ts";

export interface FreezeDeps {
  readonly clock: Clock;
  readonly freezes: { of(profile: string): Promise<Freeze | undefined> };
}

const pollIntervalMs = secondMs;
const askAgainMs = 10 * secondMs;

/**
 * Runs work on a profile unless it is frozen.
 * @param deps `scope`: whether a freeze pauses the whole queue or only this job; `onFrozen` records why nothing happens
 */
export async function unlessFrozen<V>(
  profile: string,
  deps: FreezeDeps & {
    readonly scope: "bucket" | "job";
    readonly signal: AbortSignal;
    readonly onFrozen?: (reason: string, delayMs: number) => Promise<void>;
  },
  work: (signal: AbortSignal) => Promise<V>,
): Promise<V | Interruption> {
  const { clock, freezes, scope, signal, onFrozen } = deps;
  const freeze = await freezes.of(profile);
  if (freeze !== undefined) {
    const leftMs = (freeze.untilMs ?? Number.POSITIVE_INFINITY) - clock.wallMs();
    const delayMs = Math.max(1, Math.min(leftMs, askAgainMs));
    const reason = `changes are frozen: ${freeze.reason}`;
    await onFrozen?.(reason, delayMs);
    return { kind: "postponed", delayMs, scope, reason };
  }
  const halt = new AbortController();
  const poll = async (): Promise<void> => {
    const begun = await freezes.of(profile);
    if (begun !== undefined) halt.abort(new Error(`changes are frozen: ${begun.reason}`));
  };
  const stopPolling = every(pollIntervalMs, () => void poll().catch(() => undefined));
  try {
    return await work(AbortSignal.any([signal, halt.signal]));
  } finally {
    stopPolling();
  }
}
