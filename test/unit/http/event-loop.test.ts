/** The measure of how late the event loop is, by which a worker refuses requests. */
import { expect, onTestFinished, test, vi } from "vitest";
import { watchEventLoop } from "#http/control-api.ts";
import { systemClock } from "#core/time.ts";

test("the event loop is late if two timers in a row are, and on time again with the first that is", () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  let nowMs = 0;
  const delay = watchEventLoop({ ...systemClock, monotonicMs: () => nowMs });
  onTestFinished(() => delay.stop());
  const measured = [5_000, 9_000, 10_000, 16_000, 17_000].map((atMs) => {
    nowMs = atMs;
    vi.advanceTimersByTime(1_000);
    return delay.lateMs;
  });
  expect(measured).toEqual([0, 3_000, 0, 0, 0]);
});
