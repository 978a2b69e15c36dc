/** The rows of a run over time and by reason: what a user looks at first when rows fail. All rows are read for it. */
import type { Clock } from "#core/time.ts";
import { isRunOver } from "#fleet/run.ts";
import type { BucketWindow, Limiter } from "#limiter/limiter.ts";
import type { RunSummary } from "../contract.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { RunRecord } from "../ledger/run-record.ts";
import { rowResults } from "./results.ts";

/** Values of one row, such as a SIM ID or a time, do not make a reason of their own. */
export function kindOfReason(reason: string): string {
  return reason.replaceAll(/"[^"]*"|\d{4}-\d\d-\d\dT[\d:.]+Z|\b\d{6,}\b/g, "…");
}

/** Whether reasons are the given one, in which `…` stands for any text. */
export function reasonMatcher(given: string): (reason: string) => boolean {
  const [first = "", ...others] = given.split("…");
  const last = others.pop();
  return (reason) => {
    if (last === undefined) return reason === given;
    let at = first.length;
    for (const part of others) {
      const found = reason.indexOf(part, at);
      if (found === -1) return false;
      at = found + part.length;
    }
    return reason.startsWith(first) && reason.endsWith(last) && reason.length - last.length >= at;
  };
}

const maxWindows = 60;
const maxReasons = 50;
/** Doubt about the end of a window. */
const slackMs = 1_000;

type Window = RunSummary["windows"][number];
type Reason = RunSummary["reasons"][number];

/**
 * @param deps `periodMs`: the quota's period, of which a window of the summary is a multiple
 * @throws SimfleetError RUN_NOT_FOUND, or ROWS_REMOVED if its rows are no longer stored
 */
export async function summarizeRun(
  runId: string,
  deps: {
    readonly ledger: Ledger;
    readonly clock: Clock;
    readonly limiter: Pick<Limiter, "state" | "windows">;
    readonly periodMs: number;
  },
): Promise<RunSummary> {
  const { ledger, clock, limiter, periodMs } = deps;
  const nowMs = clock.wallMs();
  const run = await ledger.run(runId);
  const windowMs = chooseWindowMs(run, { periodMs, nowMs });
  const { bucket, limit } = await limiter.state(run.bucket);
  const kept = await limiter.windows(bucket);
  // Windows start as those of the quota: other ones would have calls of two bursts.
  const phaseMs = (kept[0]?.endedAtMs ?? 0) % periodMs;
  const windows = new Map<number, Omit<Window, "quota">>();
  const reasons = new Map<string, Reason>();
  for await (const { outcome, reason, attempts, finishedAtMs } of rowResults(run, ledger)) {
    if (outcome === "pending") continue;
    if (reason !== "" && outcome !== "done" && outcome !== "skipped") {
      const kind = kindOfReason(reason);
      const name = `${outcome} ${kind}`;
      const { rows, reason: other } = reasons.get(name) ?? { rows: 0, reason };
      reasons.set(name, { outcome, reason: other === reason ? reason : kind, rows: rows + 1 });
    }
    if (finishedAtMs === undefined || outcome === "cancelled") continue;
    const atMs = Math.floor((finishedAtMs - phaseMs) / windowMs) * windowMs + phaseMs;
    const window = windows.get(atMs) ?? emptyWindow(atMs);
    window[outcome] += 1;
    window.calls += attempts;
    windows.set(atMs, window);
  }
  return {
    at: new Date(nowMs).toISOString(),
    windowSeconds: windowMs / 1_000,
    windows: [...windows]
      .toSorted(([a], [b]) => a - b)
      .map(([atMs, window]) => {
        const allowed = limitAt(atMs + windowMs, kept) ?? limit;
        return { ...window, quota: allowed === undefined ? null : (allowed * windowMs) / periodMs };
      }),
    reasons: [...reasons.values()].toSorted((a, b) => b.rows - a.rows).slice(0, maxReasons),
    reasonsInAll: reasons.size,
  };
}

/** The limit of the window of the quota that ended last until then, or first after it. @param windows newest first */
function limitAt(untilMs: number, windows: readonly BucketWindow[]): number | undefined {
  const found = windows.find(({ endedAtMs }) => endedAtMs <= untilMs + slackMs) ?? windows.at(-1);
  return found?.limit;
}

/** So long that the run has at most so many windows. */
function chooseWindowMs(
  { createdAtMs, startedAtMs, finishedAtMs, state }: RunRecord,
  { periodMs, nowMs }: { readonly periodMs: number; readonly nowMs: number },
): number {
  const endMs = isRunOver(state) && finishedAtMs !== undefined ? finishedAtMs : nowMs;
  const spanMs = Math.max(1, endMs - (startedAtMs ?? createdAtMs));
  return periodMs * Math.max(1, Math.ceil(spanMs / periodMs / maxWindows));
}

function emptyWindow(atMs: number): Omit<Window, "quota"> {
  return { at: new Date(atMs).toISOString(), calls: 0, done: 0, skipped: 0, rejected: 0, failed: 0, unknown: 0 };
}
