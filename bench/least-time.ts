/** The minimum time that the windows of a quota allow for a run. */

/**
 * From the start of the run to the opening of the last window it needs, plus that window's calls at full speed, in ms.
 * @param windows `beginAfterStartMs`: start of the run, counted from the beginning of some window
 */
export function leastTimeMs(
  rows: number,
  windows: { periodMs: number; perWindow: number; beginAfterStartMs: number },
  call: { meanLatencyMs: number; connections: number },
): number {
  const { periodMs, perWindow, beginAfterStartMs } = windows;
  const untilRefreshMs = periodMs - (beginAfterStartMs % periodMs);
  const needed = Math.ceil(rows / perWindow);
  const inLast = rows - (needed - 1) * perWindow;
  const tailMs = (inLast / call.connections) * call.meanLatencyMs;
  return needed === 1 ? tailMs : untilRefreshMs + (needed - 2) * periodMs + tailMs;
}
