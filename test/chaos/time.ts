/** Timers of the chaos test: they run on real time, since the processes that it breaks do. */
import { setTimeout as sleepFor } from "node:timers/promises";

export function nowMs(): number {
  return performance.now();
}

export async function sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
  await sleepFor(Math.max(0, delayMs), undefined, signal === undefined ? {} : { signal });
}

export function after(delayMs: number, act: () => void): void {
  setTimeout(act, delayMs).unref();
}
