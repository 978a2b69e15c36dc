import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { systemClock } from "#core/time.ts";
import { Ledger } from "#jobs/runs/ledger/ledger.ts";
import type { Settled } from "#jobs/runs/ledger/packing.ts";
import type { RunHead } from "#jobs/runs/ledger/run-record.ts";
import { seeds } from "../../support/long.ts";
import { openTestRedis } from "../../support/redis.ts";
import { keptBounds, settledAs, submit } from "./run-of.ts";

const { redis, keys, connect } = openTestRedis();
const newLedger = (connection = redis): Ledger =>
  new Ledger({ redis: connection, keys, clock: systemClock, bounds: keptBounds });
const ledger = newLedger();
const workers = [ledger, newLedger(connect()), newLedger(connect())];
const numRuns = seeds(30, 100) * Number(process.env.PROPERTY_RUNS_TIMES ?? 1);
const seed = Number(process.env.PROPERTY_SEED ?? 4_711);
const noCounts = { calls: 0, throttled: 0 };

type Outcome = Settled["outcome"];
type Step =
  | {
      readonly do: "settle";
      readonly by: number;
      readonly segment: number;
      readonly rows: readonly [number, Outcome][];
    }
  | { readonly do: "finish"; readonly by: number; readonly segment: number }
  | { readonly do: "move"; readonly to: "paused" | "running" | "cancelled" };

const shape = fc.record({
  weights: fc.array(fc.array(fc.constantFrom(1, 1, 1, 3), { minLength: 1, maxLength: 6 }), {
    minLength: 1,
    maxLength: 4,
  }),
  /** Segments of each wave; 0: no waves. */
  waveSegments: fc.constantFrom(0, 0, 1, 2),
  maxFailures: fc.option(fc.nat({ max: 6 }), { nil: undefined }),
});
type Shape = typeof shape extends fc.Arbitrary<infer S> ? S : never;
const kinds = ["done", "skipped", "rejected", "failed", "unknown"] as const;
const outcome: fc.Arbitrary<Outcome> = fc.constantFrom("done", "done", ...kinds);
const settle: fc.Arbitrary<Step> = fc.record({
  do: fc.constant("settle" as const),
  by: fc.nat({ max: 2 }),
  segment: fc.nat({ max: 3 }),
  rows: fc.array(fc.tuple(fc.nat({ max: 5 }), outcome), { maxLength: 8 }),
});
const finish: fc.Arbitrary<Step> = fc.record({
  do: fc.constant("finish" as const),
  by: fc.nat({ max: 2 }),
  segment: fc.nat({ max: 3 }),
});
const move: fc.Arbitrary<Step> = fc.record({
  do: fc.constant("move" as const),
  to: fc.constantFrom("paused", "running", "cancelled"),
});
/** All rows of a segment and its packing, so that late settlements meet packed segments as well as open ones. */
const workOff = fc.tuple(fc.nat({ max: 2 }), fc.nat({ max: 3 }), outcome).map(([by, segment, what]): Step[] => [
  { do: "settle", by, segment, rows: [0, 1, 2, 3, 4, 5].map((place) => [place, place === 0 ? what : "done"]) },
  { do: "finish", by, segment },
]);
const step = fc.oneof(
  { weight: 6, arbitrary: settle },
  { weight: 2, arbitrary: finish },
  { weight: 1, arbitrary: move },
);

/** A run by the rules alone: the first outcome of a row counts, and nothing after the end of the run. */
class Model {
  readonly outcomes = new Map<string, Outcome>();
  readonly packed = new Set<number>();
  state = "running";
  readonly #head: RunHead;
  readonly #weights: readonly (readonly number[])[];

  constructor(head: RunHead, weights: readonly (readonly number[])[]) {
    this.#head = head;
    this.#weights = weights;
  }

  /** Rows of a step that there are in this run. */
  rowsOf(taken: Extract<Step, { do: "settle" }>): [number, Outcome, number][] {
    const weights = this.#weights[taken.segment] ?? [];
    return taken.rows.flatMap(([place, what]) => (weights[place] === undefined ? [] : [[place, what, weights[place]]]));
  }

  count(of: readonly Outcome[]): number {
    let sum = 0;
    for (const [key, what] of this.outcomes) {
      const [segment = 0, place = 0] = key.split(":").map(Number);
      if (of.includes(what)) sum += this.#weights[segment]?.[place] ?? 0;
    }
    return sum;
  }

  isWhole(segment: number): boolean {
    return (this.#weights[segment] ?? []).every((_, place) => this.outcomes.has(`${segment}:${place}`));
  }

  take(taken: Step): void {
    if (taken.do === "settle") this.#settle(taken);
    if (taken.do === "finish" && this.isWhole(taken.segment)) this.packed.add(taken.segment);
    if (taken.do === "move" && this.#allows(taken.to)) this.state = taken.to;
  }

  #allows(to: string): boolean {
    return to === "running" ? this.state === "paused" : to === "paused" ? this.state === "running" : isOpen(this.state);
  }

  /** Segments of the first wave without all outcomes; none of the last of several. */
  #openWave(): { start: number; end: number } {
    const { waves } = this.#head;
    const at = waves.findIndex(({ end }, i) => !range(waves[i - 1]?.end ?? 0, end).every((one) => this.isWhole(one)));
    const isLast = waves.length > 1 && at === waves.length - 1;
    return { start: waves[at - 1]?.end ?? 0, end: isLast ? 0 : (waves[at]?.end ?? 0) };
  }

  #settle(taken: Extract<Step, { do: "settle" }>): void {
    const open = this.#openWave();
    let waveFailed = false;
    for (const [place, what] of this.rowsOf(taken)) {
      const key = `${taken.segment}:${place}`;
      if (this.outcomes.has(key)) continue;
      this.outcomes.set(key, what);
      waveFailed ||= taken.segment >= open.start && taken.segment < open.end && failures.includes(what);
    }
    if (!isOpen(this.state)) return;
    const { total, maxFailures = Infinity } = this.#head;
    if (this.outcomes.size === this.#weights.flat().length && total > 0) this.state = "completed";
    else if (waveFailed || this.count(failures) > maxFailures) this.state = "aborted";
  }
}

const range = (start: number, end: number): number[] => Array.from({ length: end - start }, (_, i) => start + i);
const failures: readonly Outcome[] = ["rejected", "failed", "unknown"];
const isOpen = (state: string): boolean => state === "running" || state === "paused";

/** Whether a run has the segment of a step. */
const concerns = (head: RunHead, taken: Step): boolean =>
  taken.do === "move" || head.segments[taken.segment] !== undefined;

async function perform(head: RunHead, model: Model, taken: Step): Promise<void> {
  if (!concerns(head, taken)) return;
  if (taken.do === "settle") {
    const settlements = model.rowsOf(taken).map(([place, what, weight], i) => ({
      place,
      key: `8942300000${place}`,
      weight,
      settled: settledAs(what, i + 1),
    }));
    await workers[taken.by]?.settle(head, taken.segment, settlements, noCounts);
  } else if (taken.do === "finish") {
    await workers[taken.by]?.finishSegment(head, taken.segment);
  } else {
    const from = { running: ["paused"], paused: ["running"], cancelled: ["running", "paused"] } as const;
    await ledger.move(head.runId, taken.to, from[taken.to]).catch(() => undefined);
  }
}

async function outcomesIn(head: RunHead): Promise<Map<string, Settled>> {
  const all = new Map<string, Settled>();
  for (const segment of head.segments.keys()) {
    const { settled } = await ledger.segment(head, segment);
    for (const [place, what] of settled) all.set(`${segment}:${place}`, what);
  }
  return all;
}

const stepsOfAll = fc
  .array(fc.oneof({ weight: 4, arbitrary: step.map((taken) => [taken]) }, { weight: 1, arbitrary: workOff }), {
    maxLength: 25,
  })
  .map((taken) => taken.flat());
const manySettlements = fc.array(settle, { minLength: 8, maxLength: 40 });

/** Submits a run of this shape. */
function submitShape({ weights, waveSegments, maxFailures }: Shape) {
  const starts = waveSegments === 0 ? [] : range(0, weights.length).filter((at) => at % waveSegments === 0);
  const waves = starts.map((start) => {
    const end = Math.min(start + waveSegments, weights.length);
    return { end, calls: weights.slice(start, end).flat().length, met: 0, judged: 0 };
  });
  return submit(ledger, weights, { waves, ...(maxFailures === undefined ? {} : { maxFailures }) });
}

/** The run has the state of the model, and its counts, which add up. */
async function expectCounts(runId: string, model: Model): Promise<void> {
  const { tally, state } = await ledger.run(runId);
  const { total, pending, cancelled, ...settled } = tally;
  expect(settled).toEqual(Object.fromEntries(kinds.map((what) => [what, model.count([what])])));
  expect(Object.values(settled).reduce((sum, count) => sum + count, pending + cancelled)).toBe(total);
  expect(state).toBe(model.state);
}

/** Reads a run again and again: no outcome that was seen is lost or changed, and the counts add up. */
async function readUntil(signal: AbortSignal, head: RunHead): Promise<void> {
  const everSeen = new Map<string, Settled>();
  while (!signal.aborted) {
    const seen = await outcomesIn(head);
    for (const [key, what] of everSeen) expect(seen.get(key), `outcome of row ${key}`).toEqual(what);
    for (const [key, what] of seen) everSeen.set(key, what);
    const { total, pending, done, skipped, rejected, failed, unknown } = (await ledger.run(head.runId)).tally;
    expect(done + skipped + rejected + failed + unknown + pending).toBe(total);
  }
}

/** Performs all steps at once, those that settle with an attempt to finish, and all of them again, too late. */
async function performAtOnce(head: RunHead, model: Model, steps: readonly Step[]): Promise<void> {
  const settleAndFinish = async (taken: Step): Promise<void> => {
    await perform(head, model, taken);
    if (taken.do === "settle") await perform(head, model, { ...taken, do: "finish" });
  };
  await Promise.all(steps.map(settleAndFinish));
  await Promise.all(steps.map((late) => perform(head, model, late)));
}

/** Steps that settle all rows, which leaves no row without an outcome. */
function settleAll(weights: readonly (readonly number[])[]): Step[] {
  return weights.map((inSegment, segment) => {
    return { do: "settle", by: segment % 3, segment, rows: inSegment.map((_, place) => [place, "done"]) };
  });
}

/** Each row has an outcome, and the counts are those of the outcomes. */
async function expectWhole(head: RunHead, weights: readonly (readonly number[])[]): Promise<void> {
  const { tally, state } = await ledger.run(head.runId);
  const outcomes = await outcomesIn(head);
  expect([state, tally.pending, outcomes.size]).toEqual(["completed", 0, weights.flat().length]);
  const weightOf = (key: string): number => weights[Number(key.split(":")[0])]?.[Number(key.split(":")[1])] ?? 0;
  for (const what of ["done", "skipped", "rejected", "failed"] as const) {
    const counted = [...outcomes].filter(([, settled]) => settled.outcome === what);
    expect(counted.reduce((sum, [key]) => sum + weightOf(key), 0)).toBe(tally[what]);
  }
}

describe("row settlement", () => {
  it("settling keeps the first outcome of each row and changes the run's state by the rules at each step", async () => {
    const check = async (made: Shape, steps: readonly Step[]): Promise<void> => {
      const head = await submitShape(made);
      const model = new Model(head, made.weights);
      for (const taken of steps.filter((one) => concerns(head, one))) {
        await perform(head, model, taken);
        model.take(taken);
        await expectCounts(head.runId, model);
      }
      const seen = [...(await outcomesIn(head))].map(([key, { outcome: what }]) => [key, what] as const);
      expect(new Map(seen)).toEqual(model.outcomes);
      expect(await ledger.finishedSegments(head.runId)).toEqual(model.packed);
    };
    await fc.assert(fc.asyncProperty(shape, stepsOfAll, check), { seed, numRuns });
  }, 600_000);

  it("settling loses, duplicates, and changes no outcome while workers settle, finish, and read concurrently", async () => {
    const check = async ({ weights }: Shape, steps: readonly Step[]): Promise<void> => {
      const head = await submit(ledger, weights);
      const model = new Model(head, weights);
      const over = new AbortController();
      const reading = readUntil(over.signal, head);
      await performAtOnce(head, model, [...steps, ...settleAll(weights)]).finally(() => over.abort());
      await reading;
      await expectWhole(head, weights);
      expect((await ledger.finishedSegments(head.runId)).size).toBe(weights.length);
      expect(await redis.keys(`${keys.prefix}:run:${head.runId}:segment:*`)).toEqual([]);
    };
    await fc.assert(fc.asyncProperty(shape, manySettlements, check), { seed, numRuns });
  }, 600_000);
});
