/** Waits for a condition instead of a fixed time. */
import { setTimeout as sleep } from "node:timers/promises";

/**
 * Polls until `holds` is true: every few milliseconds, or less often where it takes long, as a command does.
 * @throws Error naming `what` after `deadlineMs`
 */
export async function until(
  what: string,
  holds: () => boolean | Promise<boolean>,
  deadlineMs = 120_000,
): Promise<void> {
  const endMs = performance.now() + deadlineMs;
  for (;;) {
    const beganMs = performance.now();
    if (await holds()) return;
    const nowMs = performance.now();
    if (nowMs > endMs) throw new Error(`Waited ${deadlineMs} ms in vain until ${what}`);
    await sleep(Math.max(5, 2 * (nowMs - beganMs)));
  }
}
