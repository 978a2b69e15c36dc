/**
 * Forecasts when runs make their calls. It plays the queues as they work: the runs of one queue come one after the
 * other; queues that share a quota take turns of so many calls as each has connections; a window gives half of its
 * calls at once and the rest evenly, unless the work ends in it (bucket-permits.lua). A run with its own rate leaves
 * what it may not use to the next, unless its segments hold all places of its queue; after a longer wait it frees them.
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

const stepsPerWindow = 24;
const maxSteps = 5_000;
/** Less than this of a call is nothing. */
const tiny = 1e-6;
/** A longer wait for the run's own rate gives the place to others. */
const patienceMs = 2_000;

interface Playing {
  readonly demand: Demand;
  readonly all: number;
  left: number;
  /** Calls that its own rate allows now. */
  allowed: number;
  startMs: number | undefined;
}

/** Calls that a queue makes before another one does. */
interface Turn {
  readonly runs: Playing[];
  left: number;
}

/** `slots`: segments of a queue in progress at once; `lanes`: calls of a queue in line at once. */
interface Places {
  readonly slots: number;
  readonly lanes: number;
}

/** @param demands of runs that share the quota, in the order in which they have started */
export function forecast(demands: readonly Demand[], quota: QuotaView, places: Places): ReadonlyMap<string, Forecast> {
  const play = new Play(demands, places);
  const { periodMs } = quota;
  let window = toWindow(quota, 0);
  let nowMs = 0;
  for (let step = 0; step < maxSteps && play.open > 0; step += 1) {
    if (nowMs >= window.endMs - tiny) {
      window = toWindow({ ...quota, left: quota.limit, untilRefreshMs: periodMs }, nowMs);
    }
    const { calls, spread, endMs } = window;
    const availableAt = (atMs: number): number =>
      play.open > calls - window.used ? calls - (spread * (endMs - atMs)) / window.lengthMs : calls;
    // The later, the coarser: beyond many windows, their calls are as good as evenly spread.
    const lengthMs = Math.max(periodMs / stepsPerWindow, nowMs / 50);
    const isCoarse = lengthMs > periodMs;
    const toMs = isCoarse ? nowMs + lengthMs : Math.min(nowMs + lengthMs, endMs);
    if (isCoarse) window.endMs = toMs;
    else window.used += play.serve(availableAt(nowMs) - window.used, nowMs, 0);
    play.pass(toMs - nowMs);
    const maxCalls = isCoarse ? (calls * lengthMs) / periodMs : availableAt(toMs) - window.used;
    window.used += play.serve(maxCalls, nowMs, toMs - nowMs);
    nowMs = toMs;
  }
  return play.forecasts;
}

/** The queues, and whose turn it is. */
class Play {
  /** Forecasts of the runs that have ended, by run. */
  readonly forecasts = new Map<string, Forecast>();
  readonly #runs: readonly Playing[];
  /** The first one is served. */
  readonly #turns: Turn[];
  readonly #places: Places;

  constructor(demands: readonly Demand[], places: Places) {
    this.#places = places;
    this.#runs = demands.map((demand): Playing => {
      const all = addUp(demand.segments) - demand.made;
      const allowed = demand.callsPerMinute === undefined ? Number.POSITIVE_INFINITY : 1;
      return { demand, all, left: all, allowed, startMs: undefined };
    });
    for (const run of this.#runs) if (run.all <= tiny) this.#end(run, 0);
    this.#turns = this.#firstTurns();
  }

  /** Calls still to be made. */
  get open(): number {
    return this.#runs.reduce((sum, { left }) => sum + left, 0);
  }

  /** Time passes: runs with a rate of their own may make more calls. */
  pass(ms: number): void {
    for (const run of this.#runs) {
      const { callsPerMinute = Number.POSITIVE_INFINITY } = run.demand;
      run.allowed = Math.min(1, run.allowed) + (callsPerMinute * ms) / minuteMs;
    }
  }

  /** Makes so many calls at most, evenly over a time. @returns how many */
  serve(budget: number, fromMs: number, lengthMs: number): number {
    let left = Math.max(0, budget);
    for (let passed = 0; left > tiny && passed < this.#turns.length;) {
      const turn = this.#turns[0];
      if (turn === undefined) break;
      const maxCalls = Math.min(left, turn.left);
      const made = this.#serveQueue(turn.runs, maxCalls, (more) => fromMs + lengthMs * (1 - (left - more) / budget));
      left -= made;
      turn.left -= made;
      passed = made > tiny ? 0 : passed + 1;
      if (made > maxCalls - tiny && turn.left > tiny) continue;
      turn.left = this.#places.lanes;
      this.#turns.push(...this.#turns.splice(0, 1));
    }
    return Math.max(0, budget) - left;
  }

  /** @param timeOf the instant after so many calls of them */
  #serveQueue(runs: Playing[], maxCalls: number, timeOf: (made: number) => number): number {
    let made = 0;
    let held = 0;
    for (const run of runs.filter(({ left }) => left > tiny)) {
      if (made > maxCalls - tiny || held >= this.#places.slots) break;
      const calls = Math.min(maxCalls - made, run.left, run.allowed);
      if (calls > tiny) {
        made += calls;
        run.left -= calls;
        run.allowed -= calls;
        run.startMs ??= timeOf(made);
        if (run.left <= tiny) this.#end(run, timeOf(made));
      }
      const { callsPerMinute = Number.POSITIVE_INFINITY } = run.demand;
      // A run whose next call is far off leaves its place to others. One without a rate has taken all calls or ended.
      if (minuteMs / callsPerMinute > patienceMs) runs.push(...runs.splice(runs.indexOf(run), calls > tiny ? 1 : 0));
      else if (run.left > tiny && run.allowed < 1) held += openSegments(run, this.#places.slots);
    }
    return made;
  }

  /**
   * The turns as they are now. One queue is being served, and what is left of its turn comes first; that is a whole
   * turn if the others have come after it and had none yet.
   */
  #firstTurns(): Turn[] {
    const queues = [...Map.groupBy(this.#runs, ({ demand }) => demand.queue).values()];
    const heads = queues.flatMap((runs) => {
      const first = runs.find(({ left }) => left > tiny);
      return first === undefined ? [] : [{ runs, made: first.demand.made, at: this.#runs.indexOf(first) }];
    });
    const turns = heads.map(({ runs, made, at }) => {
      const isFirst = heads.every((other) => other.runs === runs || (other.made < 1 && other.at > at));
      return { runs, left: this.#places.lanes - (isFirst ? 0 : made % this.#places.lanes), isServed: made >= 1 };
    });
    return turns.toSorted((a, b) => a.left - b.left || Number(b.isServed) - Number(a.isServed));
  }

  #end(run: Playing, atMs: number): void {
    const before = this.#runs.filter((other) => other !== run && other.all - other.left > 0.5);
    const calls = Math.round(before.reduce((sum, { all, left }) => sum + all - left, 0));
    const ahead = { runs: before.map(({ demand }) => demand.runId), calls };
    const { runId, soaksMs } = run.demand;
    this.forecasts.set(runId, { startMs: run.startMs ?? atMs, endMs: atMs + soaksMs, ahead });
    run.left = 0;
  }
}

/** How many segments of a run hold or await a place. The calls of a run with a rate come from all that hold one. */
function openSegments({ demand: { segments }, left }: Playing, slots: number): number {
  let over = addUp(segments) - left;
  for (let at = 0; at < segments.length; at += slots) {
    over -= addUp(segments.slice(at, at + slots));
    if (over < -tiny) return segments.length - at;
  }
  return 0;
}

function addUp(counts: readonly number[]): number {
  return counts.reduce((sum, one) => sum + one, 0);
}

/** The current window of a quota, as the forecast uses it. */
function toWindow({ limit, left, reserved, yields, untilRefreshMs, periodMs }: QuotaView, nowMs: number) {
  const part = Math.min(1, untilRefreshMs / periodMs);
  const calls = Math.max(left === limit ? 1 : 0, left - reserved * part);
  const atOnce = Math.max(0, Math.min(calls, left - (limit / 2) * part));
  const spread = yields ? calls - atOnce : 0;
  /** `calls`: all of it; `spread`: how many of them are spread over it; `used`: how many are made. */
  return { calls, spread, lengthMs: untilRefreshMs, endMs: nowMs + untilRefreshMs, used: 0 };
}

// Reads what a forecast needs.

/** `refreshMs`: time to the next refresh of the quota. */
type QuotaForecast = Forecast & { readonly quota: string; readonly refreshMs: number };
type Planned = Pick<RunHead, "runId" | "bucket" | "options" | "segments" | "waves">;
/** A run that would start now, and the calls that it takes from others. */
type Starting = Planned & { readonly supersedes: readonly { readonly runId: string; readonly sims: number }[] };

export interface ForecastDeps extends Pick<Kernel, "limiter" | "workerRegistry" | "clock" | "config"> {
  readonly ledger: Ledger;
}

/** The running runs are read once a second at most: there may be many, and many that ask. */
export function forecaster({ ledger, limiter, workerRegistry, clock, config }: ForecastDeps) {
  const { periodMs, connections } = config.limits;
  const running = keepAnswers<RunRecord[]>(clock, 1_000);

  /** @param shown runs as they are now */
  return async (shown: readonly RunRecord[], plan?: Starting): Promise<ReadonlyMap<string, QuotaForecast>> => {
    const ids = [...shown.map(({ runId }) => runId), plan?.runId ?? ""];
    const others = await running(ids.join(" "), () => ledger.running(new Set(ids)));
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
      if (view === undefined || !sharing.some(({ runId }) => ids.includes(runId))) continue;
      const processes = Math.max(1, (await workerRegistry.workers(queueName(queue))).length);
      const [slots, lanes] = [segmentsAtOnce * processes, connections * processes];
      for (const [runId, one] of forecast(sharing, view, { slots, lanes })) {
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
  return toDemand(run, sent === 0 ? 0 : Math.max(0, run.tally.pending - taken) / sent, run);
}

/** Calls of a plan or a run; reads of SIMs come last, the soaks after them. @param left share of calls still to make */
function toDemand(run: Planned, left: number, { wave = 0 }: Partial<Pick<RunRecord, "wave">> = {}) {
  const calls = run.segments.map(({ callable }) => callable);
  const { runId, bucket: queue, options } = run;
  return {
    runId,
    queue,
    callsPerMinute: options.callsPerMinute,
    /** Calls of its segments, in their order. */
    segments: [...calls, ...run.waves.slice(wave).map(({ judged }) => judged)] as readonly number[],
    /** Calls that it has made. */
    made: addUp(calls) * (1 - left),
    /** How long it soaks between its waves. */
    soaksMs: Math.max(0, run.waves.length - 1 - wave) * (options.waves?.soakMs ?? 0),
  };
}

function toQuotaView(state: BucketState, periodMs: number) {
  const { limit, left = limit, reserved = 0, needed, kept, nowMs, refreshLatestMs = nowMs } = state;
  if (limit === undefined || left === undefined) return undefined;
  return {
    limit,
    left,
    /** Calls of each period that are left to other callers. */
    reserved: Math.max(reserved, needed),
    /** Whether calls are spread over a window for the sake of others. */
    yields: kept !== undefined,
    untilRefreshMs: Math.max(0, refreshLatestMs - nowMs),
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
