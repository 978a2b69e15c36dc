/**
 * Forecasts when runs make their calls. The runs of one queue come one after the other, and queues that share a quota
 * take turns, so that each makes as many calls as another one meanwhile. A run with a rate of its own leaves what it
 * may not use to the next, unless its segments hold all places of its queue; after a longer wait it frees them.
 */
import { keepAnswers } from "#core/kept.ts";
import { minuteMs } from "#core/time.ts";
import { isLasting } from "#engine/problem.ts";
import type { Kernel } from "#kernel/kernel.ts";
import type { BucketState } from "#limiter/limiter.ts";
import type { RunReport } from "../contract.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { RunHead, RunRecord } from "../ledger/run-record.ts";
import { queueName, segmentsAtOnce } from "../work/queue.ts";

/** The state of a quota, as far as a forecast needs it. */
type QuotaView = NonNullable<ReturnType<typeof toQuotaView>>;

/** Calls that a run has yet to make. */
export type Demand = ReturnType<typeof toDemand>;

/** Times from now, ms. */
export interface Forecast {
  readonly startMs: number;
  readonly endMs: number;
  /** Calls of other runs that come before its last one. */
  readonly ahead: { readonly runs: readonly string[]; readonly calls: number };
}

/** Forecast in the form that plans and runs report. */
export function aheadOf(found: Forecast | undefined): RunReport["ahead"] {
  if (found === undefined || found.ahead.calls === 0) return undefined;
  return { ...found.ahead, startsInSeconds: Math.ceil(found.startMs / 1_000) };
}

/** A longer wait for the run's own rate gives the place to others. */
const patienceMs = 2_000;
/** How often the calls of runs with a rate are estimated, each time with a better estimate of the time. */
const estimates = 4;

/**
 * @param demands of runs that share the quota, in the order in which they have started
 * @param how `slots`: segments of a queue in progress at once; `of`: the runs to forecast
 */
export function forecast(
  demands: readonly Demand[],
  quota: QuotaView,
  { slots, of }: { readonly slots: number; readonly of: (runId: string) => boolean },
): ReadonlyMap<string, Forecast> {
  const queues = Map.groupBy(demands, ({ queue }) => queue);
  const forecastOf = (own: Demand): Forecast => {
    const { queue, callsPerMinute = Number.POSITIVE_INFINITY, soaksMs } = own;
    const sameQueue = queues.get(queue) ?? [];
    const before = sameQueue.slice(0, sameQueue.indexOf(own));
    const others = [...queues.values()].filter((runs) => runs !== sameQueue);
    const heldMs = addUp(before.map((run) => holdsAllFor(run, slots)));
    /** When so many of its calls are made, and what comes before the last of them. */
    const after = (calls: number) => {
      let [atMs, ahead] = [0, noCalls];
      for (let n = 0; n < estimates; n += 1) {
        const inQueue = takeFirst(before, Number.POSITIVE_INFINITY, atMs);
        const all = [inQueue, ...others.map((runs) => takeFirst(runs, inQueue.calls + calls, atMs))];
        ahead = { runs: all.flatMap(({ runs }) => runs), calls: addUp(all.map((some) => some.calls)) };
        const ownMs = ((calls - 1) * minuteMs) / callsPerMinute;
        atMs = Math.max(timeOfCall(ahead.calls + calls, quota), heldMs + ownMs);
      }
      return { atMs, ahead: { ...ahead, calls: Math.round(ahead.calls) } };
    };
    if (own.left < 0.5) return { startMs: 0, endMs: soaksMs, ahead: noCalls };
    const { atMs, ahead } = after(own.left);
    return { startMs: after(Math.min(1, own.left)).atMs, endMs: atMs + soaksMs, ahead };
  };
  return new Map(demands.filter(({ runId }) => of(runId)).map((own) => [own.runId, forecastOf(own)]));
}

type Ahead = Forecast["ahead"];

const noCalls: Ahead = { runs: [], calls: 0 };

/** The first calls of a queue's runs, at most so many, as far as the rates of the runs allow them until then. */
function takeFirst(runs: readonly Demand[], maxCalls: number, untilMs: number): Ahead {
  const taken = { runs: [] as string[], calls: 0 };
  for (const run of runs) {
    const { runId, callsPerMinute } = run;
    const allowed = callsPerMinute === undefined ? maxCalls : 1 + (callsPerMinute * untilMs) / minuteMs;
    const calls = Math.min(run.left, allowed, maxCalls - taken.calls);
    if (calls < 0.5) continue;
    taken.runs.push(runId);
    taken.calls += calls;
  }
  return taken;
}

/** How long the segments of a run with a rate hold all places of its queue, ms. */
function holdsAllFor({ callsPerMinute = Number.POSITIVE_INFINITY, segments, left }: Demand, slots: number): number {
  if (minuteMs / callsPerMinute > patienceMs) return 0;
  const atLast = addUp(segments.slice(segments.length - (segments.length % slots)));
  return (Math.max(0, left - atLast) * minuteMs) / callsPerMinute;
}

/** When the quota allows so many calls from now on, ms. */
function timeOfCall(calls: number, { limit, left, reserved, untilRefreshMs, periodMs }: QuotaView): number {
  const now = Math.max(left === limit ? 1 : 0, left - reserved * Math.min(1, untilRefreshMs / periodMs));
  if (calls <= now) return 0;
  return untilRefreshMs + (Math.ceil((calls - now) / Math.max(1, limit - reserved)) - 1) * periodMs;
}

function addUp(counts: readonly number[]): number {
  return counts.reduce((sum, one) => sum + one, 0);
}

// Reads what a forecast needs.

/** `refreshMs`: time to the next refresh of the quota. */
type QuotaForecast = Forecast & { readonly quota: string; readonly refreshMs: number };
type Planned = Pick<RunHead, "runId" | "bucket" | "options" | "segments" | "waves"> & { readonly wave?: number };
/** A run that would start now, and the calls that it takes from others. */
type Starting = Planned & { readonly supersedes: readonly { readonly runId: string; readonly sims: number }[] };

export interface ForecastDeps extends Pick<Kernel, "limiter" | "workerRegistry" | "clock" | "config"> {
  readonly ledger: Ledger;
}

/** The running runs are read once a second at most: there may be many, and many that ask. */
export function forecaster({ ledger, limiter, workerRegistry, clock, config }: ForecastDeps) {
  const { periodMs } = config.limits;
  const running = keepAnswers<RunRecord[]>(clock, 1_000);

  /** @param shown runs as they are now */
  return async (shown: readonly RunRecord[], plan?: Starting): Promise<ReadonlyMap<string, QuotaForecast>> => {
    const ids = new Set([...shown.map(({ runId }) => runId), plan?.runId ?? ""]);
    const others = await running([...ids].join(" "), () => ledger.running(ids));
    const all = [...others, ...shown]
      .filter(({ state, problem }) => state === "running" && (problem === undefined || !isLasting(problem)))
      .toSorted((a, b) => queuedAtMs(a) - queuedAtMs(b));
    const taken = new Map(plan?.supersedes.map(({ runId, sims }) => [runId, sims]));
    const demands = all.map((run) => demandOfRun(run, taken.get(run.runId)));
    if (plan !== undefined) demands.push(toDemand(plan, 1));
    const queues = [...new Set(demands.map(({ queue }) => queue))];
    const states = new Map(await Promise.all(queues.map(async (one) => [one, await limiter.state(one)] as const)));
    const found = new Map<string, QuotaForecast>();
    for (const [quota = "", sharing] of Map.groupBy(demands, ({ queue }) => states.get(queue)?.bucket)) {
      const [queue = ""] = sharing.map((demand) => demand.queue);
      const state = states.get(queue);
      const view = state === undefined ? undefined : toQuotaView(state, periodMs);
      if (view === undefined || !sharing.some(({ runId }) => ids.has(runId))) continue;
      const processes = Math.max(1, (await workerRegistry.workers(queueName(queue))).length);
      const how = { slots: segmentsAtOnce * processes, of: (runId: string) => ids.has(runId) };
      for (const [runId, one] of forecast(sharing, view, how)) {
        found.set(runId, { ...one, quota, refreshMs: view.untilRefreshMs });
      }
    }
    return found;
  };
}

function queuedAtMs({ resumedAtMs, startedAtMs = 0 }: RunRecord): number {
  return resumedAtMs ?? startedAtMs;
}

function demandOfRun(run: RunRecord, taken = 0): Demand {
  const sent = run.total - run.rejectedAtIntake - run.skippedAtIntake;
  return toDemand(run, sent === 0 ? 0 : Math.max(0, run.tally.pending - taken) / sent);
}

/** Calls of a plan or a run; reads of SIMs come last, the soaks after them. @param share of its calls still to make */
function toDemand(run: Planned, share: number) {
  const calls = run.segments.map(({ callable }) => callable);
  const { runId, bucket: queue, options, wave = 0 } = run;
  const reads = run.waves.slice(wave).map(({ judged }) => judged);
  return {
    runId,
    queue,
    callsPerMinute: options.callsPerMinute,
    /** Calls of its segments, in their order. */
    segments: [...calls, ...reads] as readonly number[],
    /** Calls that it has yet to make. */
    left: addUp(calls) * share + addUp(reads),
    /** How long it soaks between its waves. */
    soaksMs: Math.max(0, run.waves.length - 1 - wave) * (options.waves?.soakMs ?? 0),
  };
}

function toQuotaView(state: BucketState, periodMs: number) {
  const { limit, left = limit, reserved = 0, needed, nowMs, refreshLatestMs = nowMs } = state;
  if (limit === undefined || left === undefined) return undefined;
  // Of a quota that was idle for long no window is known: the next call begins one.
  const isIdle = refreshLatestMs <= nowMs;
  return {
    limit,
    left: isIdle ? limit : left,
    /** Calls of each period that are left to other callers. */
    reserved: Math.max(reserved, needed),
    untilRefreshMs: isIdle ? periodMs : refreshLatestMs - nowMs,
    periodMs,
  };
}

/** @returns by quota, the runs that need more than its present window, and the time until all of them are done */
export function workByQuota(
  running: readonly Pick<RunRecord, "runId" | "tally">[],
  forecasts: ReadonlyMap<string, QuotaForecast>,
) {
  const found = new Map<string, { runs: number; calls: number; seconds: number }>();
  for (const { runId, tally } of running) {
    const { quota = "", endMs = 0, refreshMs = 0 } = forecasts.get(runId) ?? {};
    if (endMs === 0 || endMs < refreshMs) continue;
    const { runs, calls, seconds } = found.get(quota) ?? { runs: 0, calls: 0, seconds: 0 };
    const atEnd = Math.max(seconds, Math.ceil(endMs / 1_000));
    found.set(quota, { runs: runs + 1, calls: calls + tally.pending, seconds: atEnd });
  }
  return found;
}
