/** The measure of how late the event loop is, by which a worker refuses requests. */
import { expect, onTestFinished, test, vi } from "vitest";
import { watchEventLoop } from "#http/event-loop.ts";
import { systemClock } from "#core/time.ts";

test("the delay of the event loop is what its last timer was late, and falls to zero when it is on time again", () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  let nowMs = 0;
  const delay = watchEventLoop({ ...systemClock, monotonicMs: () => nowMs });
  onTestFinished(() => delay.stop());
  nowMs = 5_000;
  vi.advanceTimersByTime(1_000);
  expect(delay.lastMs).toBe(4_000);
  nowMs = 6_000;
  vi.advanceTimersByTime(1_000);
  expect(delay.lastMs).toBe(0);
});
