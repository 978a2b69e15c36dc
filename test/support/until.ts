/** Waits for a condition instead of a fixed time. */
import { setTimeout as sleep } from "node:timers/promises";

/** Polls every few milliseconds until `holds` is true. @throws Error naming `what` after `deadlineMs` */
export async function until(what: string, holds: () => boolean | Promise<boolean>, deadlineMs = 10_000): Promise<void> {
  const endMs = performance.now() + deadlineMs;
  while (!(await holds())) {
    if (performance.now() > endMs) throw new Error(`Waited ${deadlineMs} ms in vain until ${what}`);
    await sleep(5);
  }
}
