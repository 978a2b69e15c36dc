/** Waits for a condition instead of a fixed time. */
import { setTimeout as sleep } from "node:timers/promises";

/**
 * Polls until `holds` is true: every few milliseconds where it only looks, and less often where it asks a process,
 * since asking takes the time of both from what is waited for.
 * @param longestPauseMs less than the time for which the condition holds, where it ends again
 * @throws Error naming `what` after `deadlineMs`
 */
export async function until(
  what: string,
  holds: () => boolean | Promise<boolean>,
  deadlineMs = 120_000,
  longestPauseMs = deadlineMs,
): Promise<void> {
  const endMs = performance.now() + deadlineMs;
  for (;;) {
    const beganMs = performance.now();
    const found = holds();
    if (await found) return;
    const nowMs = performance.now();
    if (nowMs > endMs) throw new Error(`Waited ${deadlineMs} ms in vain until ${what}`);
    await sleep(typeof found === "boolean" ? 5 : Math.min(longestPauseMs, Math.max(50, 6 * (nowMs - beganMs))));
  }
}
