/**
 * The minimum time that the windows of a quota allow for a run: from its start to the opening of the last window it
 * needs, plus that window's calls at full speed, in ms.
 * @param windows `perWindow`: the calls that each window leaves for the run, or that the window with this index does;
 *   `beginAfterStartMs`: start of the run, counted from the start of window 0
 */
export function minTimeMs(
  rows: number,
  windows: { periodMs: number; perWindow: number | ((index: number) => number); beginAfterStartMs: number },
  call: { meanLatencyMs: number; connections: number },
): number {
  const { periodMs, perWindow, beginAfterStartMs } = windows;
  let index = Math.floor(beginAfterStartMs / periodMs);
  let [left, openedMs] = [rows, beginAfterStartMs];
  for (;;) {
    const free = Math.max(1, typeof perWindow === "number" ? perWindow : perWindow(index));
    if (left <= free) return openedMs - beginAfterStartMs + (left / call.connections) * call.meanLatencyMs;
    left -= free;
    index += 1;
    openedMs = index * periodMs;
  }
}
