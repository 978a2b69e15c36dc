/** The windows of a run as a chart shows them. */
import type { RunSummary } from "../shapes.ts";

type Window = RunSummary["windows"][number];

/** With the empty windows in between, so that a pause is a gap. */
export function filledWindows({ windows, windowSeconds }: RunSummary): Window[] {
  const [first, last] = [windows[0], windows.at(-1)];
  if (first === undefined || last === undefined) return [];
  const byStart = new Map(windows.map((one) => [Date.parse(one.at), one]));
  const [startMs, stepMs] = [Date.parse(first.at), windowSeconds * 1_000];
  // A paused run may stand for days: beyond this, gaps are left out.
  const count = Math.min(240, Math.round((Date.parse(last.at) - startMs) / stepMs) + 1);
  if (count === 240) return [...windows];
  return Array.from({ length: count }, (_, i) => {
    const at = startMs + i * stepMs;
    const none = { calls: 0, quota: null, done: 0, skipped: 0, rejected: 0, failed: 0, unknown: 0 };
    return byStart.get(at) ?? { at: new Date(at).toISOString(), ...none };
  });
}

/**
 * Calls per minute in the last full window. Calls come in bursts, one at each reset of the quota, so any shorter time
 * would show a rate far from the real one. Undefined while the run has not been in progress for a full window.
 * @param startedAt of the run
 */
export function callsPerMinute(
  { at, windows, windowSeconds }: Pick<RunSummary, "at" | "windows" | "windowSeconds">,
  startedAt: string | null,
): number | undefined {
  const lengthMs = windowSeconds * 1_000;
  const phaseMs = Date.parse(windows[0]?.at ?? at) % lengthMs;
  const startMs = Math.floor((Date.parse(at) - phaseMs) / lengthMs) * lengthMs + phaseMs - lengthMs;
  if (startedAt === null || startMs < Date.parse(startedAt)) return undefined;
  const calls = windows.find((one) => Date.parse(one.at) === startMs)?.calls ?? 0;
  return (calls * 60) / windowSeconds;
}
