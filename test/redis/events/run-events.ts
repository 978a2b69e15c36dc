/**
 * Runs over separate SIMs, and a check that their events match the ledger and the inventory: exactly one event for each
 * transition and each change, and no other events.
 */
import type { Redis } from "ioredis";
import { expect } from "vitest";
import { systemClock } from "#core/time.ts";
import type { Event } from "#events/event.ts";
import { beforeAll as start, Feed } from "#events/feed.ts";
import { isRunOver } from "#fleet/run.ts";
import { type FieldSelection, keptFields, pickFields, secretFields } from "#fleet/sim/sim-fields.ts";
import type { Keys } from "#redis/keys.ts";
import { Inventory, fieldTextOf } from "#jobs/inventory/store/inventory.ts";
import { Ledger } from "#jobs/runs/ledger/ledger.ts";
import type { Settled, StoredRow } from "#jobs/runs/ledger/packing.ts";
import type { RunHead, RunRecord } from "#jobs/runs/ledger/run-record.ts";
import { allRuns, keptBounds, runOf, settledAs } from "../ledger/run-of.ts";

export const courses = ["completed", "paused", "cancelled", "aborted"] as const;
export type Course = (typeof courses)[number];

const classBefore = "s1.slow";
export const classAfter = "s1.fast";
/** What is kept of a SIM. */
export const selection: FieldSelection = {
  fields: keptFields(["speedClass"], { keyColumn: "simId", ofOperations: [] }),
  secrets: new Set(secretFields),
  places: {},
};
const runsInAll = courses.length * 2;
const rowsInSegments = [
  [1, 1, 1, 1],
  [1, 1, 1, 1],
  [1, 1, 1],
];

/** The head and rows of a run that no other shares a SIM with. */
export function runOnSims(number: number, course: Course): { head: RunHead; segments: StoredRow[][] } {
  const more = course === "aborted" ? { maxFailures: 2 } : {};
  const { head, segments } = runOf(rowsInSegments, { runId: `r-${course}-${number}`, ...more });
  const own = (row: StoredRow): StoredRow => ({ ...row, key: simOf(number, row.index), before: [classBefore] });
  return { head, segments: segments.map((rows) => rows.map(own)) };
}

function simOf(run: number, row: number): string {
  return `8942300000000${run}${String(row).padStart(5, "0")}`;
}

const allSims = Array.from({ length: runsInAll }, (_, run) =>
  Array.from({ length: rowsInSegments.flat().length }, (__, row) => simOf(run, row)),
).flat();

export class RunEvents {
  readonly #redis: Redis;
  readonly #ledger: Ledger;
  readonly #inventory: Inventory;
  readonly #feed: Feed;

  constructor(place: { redis: Redis; keys: Keys }) {
    const collaborators = { ...place, bounds: keptBounds, clock: systemClock };
    this.#redis = place.redis;
    this.#ledger = new Ledger(collaborators);
    this.#inventory = new Inventory(collaborators);
    this.#feed = new Feed(collaborators);
  }

  /** Makes all SIMs known with the class that they have before, by a run of its own that nobody looks at later. */
  async prepare(): Promise<void> {
    const { head, segments } = runOf([allSims.map(() => 1)], { runId: "r-before" });
    await this.#ledger.draftSegment(head.runId, 0, segments[0] ?? []);
    await this.#ledger.commit(head, "running", head.runId);
    const answered = { shown: pickFields({ speedClass: classBefore }, selection), set: ["speedClass"] };
    const settlements = allSims.map((key, place) => ({
      place,
      key,
      weight: 1,
      settled: settledAs("done"),
      ...answered,
    }));
    await this.#ledger.settle(head, 0, settlements, { calls: 0, throttled: 0 });
  }

  async runs(): Promise<RunRecord[]> {
    return (await allRuns(this.#ledger)).filter(({ runId }) => runId !== "r-before");
  }

  /** How many events there are. */
  events(): Promise<number> {
    return this.#redis.xlen(this.#feed.key);
  }

  /** Rows that have an outcome. */
  async settledRows(): Promise<number> {
    return (await this.runs()).reduce((sum, { tally }) => sum + tally.done + tally.rejected, 0);
  }

  /** Some run was submitted, and not all of them are over. */
  async isInProgress(): Promise<boolean> {
    const runs = await this.runs();
    return runs.length > 0 && (runs.length < runsInAll || runs.some(({ state }) => !isRunOver(state)));
  }

  /** @throws what vitest throws, where a change or an event is alone */
  async expectNeitherAlone(): Promise<void> {
    const { events } = await this.#feed.after(start, 100_000);
    const runs = await this.runs();
    const reported = Map.groupBy(
      events.filter(({ type, fields }) => type.startsWith("run.") && fields.run !== "r-before"),
      ({ fields }) => fields.run ?? "",
    );
    expect([...reported.keys()].toSorted()).toEqual(runs.map(({ runId }) => runId).toSorted());
    const done = new Map<string, string>();
    for (const run of runs) {
      expectMoves(run, reported.get(run.runId) ?? []);
      for (const key of await this.#expectTally(run)) done.set(key, run.runId);
    }
    await this.#expectChanges(done, events);
  }

  /** The tally is that of the rows. @returns SIMs whose rows are done */
  async #expectTally(run: RunRecord): Promise<string[]> {
    const outcomes: Settled["outcome"][] = [];
    const done: string[] = [];
    for (const segment of run.segments.keys()) {
      const { rows, settled } = await this.#ledger.segment(run, segment);
      for (const [place, { outcome }] of settled) {
        outcomes.push(outcome);
        if (outcome === "done") done.push(rows[place]?.key ?? "");
      }
    }
    const count = (outcome: Settled["outcome"]): number => outcomes.filter((one) => one === outcome).length;
    const { tally } = run;
    expect([tally.done, tally.rejected, tally.failed]).toEqual([count("done"), count("rejected"), count("failed")]);
    return done;
  }

  /** A SIM has its new class if and only if its row is done, and one event reports it, with both classes. */
  async #expectChanges(done: ReadonlyMap<string, string>, events: readonly Event[]): Promise<void> {
    const known = await this.#inventory.lookUp("default", allSims);
    const changed = allSims.filter((_, i) => fieldTextOf(known[i], "speedClass") === classAfter);
    expect(changed).toEqual(allSims.filter((key) => done.has(key)));
    const reported = events.filter(({ type }) => type === "sim.changed").map(({ fields }) => fields);
    const wanted = changed.map((sim) => ({
      sim,
      field: "speedClass",
      before: classBefore,
      after: classAfter,
      by: "run",
      cause: done.get(sim),
    }));
    const bySim = (a: { sim?: string }, b: { sim?: string }): number => ((a.sim ?? "") < (b.sim ?? "") ? -1 : 1);
    expect(reported.toSorted(bySim)).toEqual(wanted.toSorted(bySim));
  }
}

const allowed: Readonly<Record<string, readonly string[]>> = {
  "": ["run.submitted"],
  "run.submitted": ["run.paused", "run.completed", "run.aborted", "run.cancelled"],
  "run.paused": ["run.resumed", "run.completed", "run.aborted", "run.cancelled"],
  "run.resumed": ["run.paused", "run.completed", "run.aborted", "run.cancelled"],
};
const stateAfter: Readonly<Record<string, string>> = {
  "run.submitted": "running",
  "run.resumed": "running",
  "run.paused": "paused",
  "run.completed": "completed",
  "run.aborted": "aborted",
  "run.cancelled": "cancelled",
};

/** Every move follows from the one before, the last one led to the state that the run is in, and so says the event. */
function expectMoves(run: RunRecord, reported: readonly Event[]): void {
  let before = "";
  for (const { type, fields } of reported) {
    expect(allowed[before] ?? []).toContain(type);
    expect(fields.state).toBe(stateAfter[type]);
    before = type;
  }
  expect([run.runId, stateAfter[before]]).toEqual([run.runId, run.state]);
  const { done = "", rejected = "" } = reported.at(-1)?.fields ?? {};
  const counts = [Number(done), Number(rejected)];
  // Calls that were out when a run ended still get their outcome, and so do rows between two moves.
  if (run.state === "completed") expect(counts).toEqual([run.tally.done, run.tally.rejected]);
  else
    expect([run.tally.done - (counts[0] ?? 0), run.tally.rejected - (counts[1] ?? 0)].every((n) => n >= 0)).toBe(true);
}
