/** Runs that set the same fields of the same SIMs: the one that started last wins, whatever happens to it and when. */
import { afterEach, describe, expect, it, vi } from "vitest";
import type { PlatformClient } from "#api/client.ts";
import type { CallOptions } from "#api/client-options.ts";
import { systemClock, yieldToEventLoop } from "#core/time.ts";
import { setSpeedClass, type SimOperation } from "#fleet/sim-operation/sim-operation.ts";
import { Ledger } from "#jobs/runs/ledger/ledger.ts";
import type { RunHead } from "#jobs/runs/ledger/run-record.ts";
import { compareDraft, overlapSettler } from "#jobs/runs/overlap.ts";
import { execute } from "#jobs/runs/work/execute.ts";
import { ServiceTasks } from "#jobs/tasks/tasks.ts";
import { RunWatch } from "#jobs/runs/work/run-watch.ts";
import { runKeys } from "#jobs/runs/ledger/keys.ts";
import { openTestRedis } from "../../support/redis.ts";
import { until } from "../../support/until.ts";
import { selection } from "../events/run-events.ts";
import { begunAtMs, keptBounds, readResults, rowAs, runOf } from "./run-of.ts";
import { runServiceOn } from "./run-service.ts";
import { sendSms, terminate } from "./unsafe-operations.ts";
import { workContext } from "./work-context.ts";

const { redis, keys } = openTestRedis();
const collaborators = { redis, keys, clock: systemClock, bounds: keptBounds };
const ledger = new Ledger(collaborators);
const { runs: service } = runServiceOn({ redis, keys });
let profiles = 0;

afterEach(() => vi.restoreAllMocks());

const setTag: SimOperation = {
  ...setSpeedClass,
  name: "set-tag",
  inputs: ["tagName", "tagValue"].map((name) => ({ name, type: "text", isRequired: true })),
  sets: { "tags.{tagName}": "{tagValue}" },
};
const removeTags: SimOperation = { ...setSpeedClass, name: "remove-tags", inputs: [], sets: { tags: null } };

/** An account with runs on it: each SIM has the value that was last sent. */
class Fleet {
  readonly profile = `p${(profiles += 1)}`;
  readonly values = new Map<string, string>();
  calls: string[] = [];
  /** Keeps calls waiting until it resolves. */
  gate: Promise<void> = Promise.resolve();
  beforeSending: () => void = () => undefined;

  readonly #client = {
    call: async (_: unknown, { key, inputs }: { key: string; inputs: string[] }, options: CallOptions) => {
      this.beforeSending();
      await options.beforeSending?.();
      this.calls.push(`${key}=${inputs.join(":")}`);
      await this.gate;
      this.values.set(key, inputs.join(":"));
      return { simId: key, speedClass: inputs[0] };
    },
  } as unknown as PlatformClient;

  /** Drafts a run of SIMs by their short names, with the same inputs for all; each list is a segment. */
  async draft(segments: readonly string[][], inputs: readonly string[], more: Partial<RunHead> = {}): Promise<RunHead> {
    const sims = segments.flat();
    const weights = segments.map((some) => some.map(() => 1));
    const { head, segments: drafted } = runOf(weights, { profile: this.profile, ...more });
    for (const [segment, rows] of drafted.entries()) {
      const named = rows.map((row) => ({ ...row, key: sims[row.index] ?? "", inputs }));
      await ledger.draftSegment(head.runId, segment, named);
    }
    return head;
  }

  async start(
    segments: readonly string[][],
    inputs: readonly string[],
    operation = setSpeedClass,
    state: Parameters<Ledger["commit"]>[1] = "running",
  ): Promise<RunHead> {
    const head = await this.draft(segments, inputs, { operations: [operation] });
    await ledger.commit(head, state, head.runId);
    return head;
  }

  /** Works on all segments of a run, as one process. */
  async work({ runId, segments }: RunHead) {
    const account = { client: this.#client, wording: "sims", selection } as const;
    const context = workContext(collaborators, { ledger, lanes: 1, account: () => account });
    const results = [];
    for (const segment of segments.keys()) {
      const { signal } = new AbortController();
      results.push(await execute({ runId, segment }, context, signal));
    }
    return results;
  }
}

/** `a done`, `b superseded by r-…` */
async function rowsOf({ runId }: RunHead): Promise<string[]> {
  const results = await readResults(ledger, runId);
  return results.map(({ row, outcome, reason }) => `${row.key} ${outcome === "skipped" ? reason : outcome}`);
}

/** An account with a run of these SIMs. */
async function setup(segments: readonly string[][], inputs: readonly string[] = ["slow"], operation?: SimOperation) {
  const fleet = new Fleet();
  return { fleet, older: await fleet.start(segments, inputs, operation) };
}

describe("two runs that set the same field", () => {
  it("the older run leaves the SIMs of the newer one alone, whichever works first", async () => {
    const { fleet, older } = await setup([["a", "b"], ["c"]]);
    const newer = await fleet.start([["b", "c", "d"]], ["fast"]);
    await fleet.work(older);
    await fleet.work(newer);
    const reason = `superseded by run ${newer.runId}`;
    expect(await rowsOf(older)).toEqual(["a done", `b ${reason}`, `c ${reason}`]);
    expect(await rowsOf(newer)).toEqual(["b done", "c done", "d done"]);
    expect(Object.fromEntries(fleet.values)).toEqual({ a: "slow", b: "fast", c: "fast", d: "fast" });
    expect((await service.show(older.runId)).supersededBy).toEqual([{ runId: newer.runId, rows: 2 }]);
    expect(await service.show(newer.runId)).not.toHaveProperty("supersededBy");
  });

  it("a newer run that ends first supersedes the rows of a paused one, which continues with the others", async () => {
    const { fleet, older } = await setup([["a", "b"]]);
    await service.control.pause(older.runId);
    const newer = await fleet.start([["b"]], ["fast"]);
    await fleet.work(newer);
    expect(await ledger.state(newer.runId)).toBe("completed");
    await redis.unlink(keys.run(newer.runId), runKeys(keys).input(newer.runId));
    await service.control.resume(older.runId);
    await fleet.work(older);
    expect(await rowsOf(older)).toEqual(["a done", `b superseded by run ${newer.runId}`]);
    expect(fleet.calls).toEqual(["b=fast", "a=slow"]);
  });

  it("a paused run whose rows are all superseded is completed", async () => {
    const { fleet, older } = await setup([["a"], ["b"]]);
    await service.control.pause(older.runId);
    await fleet.work(await fleet.start([["a", "b"]], ["fast"]));
    expect(await ledger.run(older.runId)).toMatchObject({ state: "completed", tally: { skipped: 2, pending: 0 } });
    expect(await ledger.finishedSegments(older.runId)).toEqual(new Set([0, 1]));
  });

  type Change = Parameters<typeof service.draft>[1] & { set: { speedClass: string } };
  type Signature = { readonly runId: string; readonly name: string; readonly by: string };

  const asUser = async (change: Change, signature: Signature, older: RunHead): Promise<void> => {
    const plan = await service.draft({ sims: ["a"] }, change);
    expect(plan.report).toMatchObject({ calls: 0, supersedes: [{ runId: older.runId, sims: 1 }] });
    await service.submit(plan, signature);
  };
  const asSchedule = async (change: Change, signature: Signature): Promise<void> => {
    const tasks = new ServiceTasks({ runs: { service } } as ConstructorParameters<typeof ServiceTasks>[0]);
    await tasks.changeSims({ operation: setSpeedClass.name, ...change, sims: ["a"] }, signature);
  };

  it.each([
    ["a user", asUser],
    ["a schedule", asSchedule],
  ])("values that the SIMs have supersede rows without a call, from %s", async (_, submitAs) => {
    const fleet = new Fleet();
    await fleet.work(await fleet.start([["a"]], ["slow"]));
    const older = await fleet.start([["a", "b"]], ["fast"]);
    await service.control.pause(older.runId);
    const options = { partial: false, skipUnchanged: true };
    const change = { profile: fleet.profile, operation: setSpeedClass.name, set: { speedClass: "slow" }, options };
    const signature = { runId: `r-${fleet.profile}`, name: "back", by: "cli:anna" };
    await submitAs(change, signature, older);
    expect(await ledger.state(signature.runId)).toBe("completed");
    expect(await rowsOf(older)).toEqual([`a superseded by run ${signature.runId}`, "b pending"]);
  });

  it("to cancel the newer run does not revive the rows of a paused one", async () => {
    const { fleet, older } = await setup([["a", "b"]]);
    await service.control.pause(older.runId);
    const newer = await fleet.start([["b"]], ["fast"]);
    await service.control.cancel(newer.runId);
    await redis.unlink(keys.run(newer.runId), runKeys(keys).input(newer.runId));
    await service.control.resume(older.runId);
    await fleet.work(older);
    expect(await rowsOf(older)).toEqual(["a done", `b superseded by run ${newer.runId}`]);
    expect(fleet.calls).toEqual(["a=slow"]);
  });

  it("the profiles of one operator are one account", async () => {
    const [fleet, others] = [new Fleet(), new Fleet()];
    await redis.hset(keys.quotaOwners(), fleet.profile, "op@host", others.profile, "op@host");
    const older = await fleet.start([["a"]], ["slow"]);
    const head = await others.draft([["a"]], ["fast"]);
    const { supersedes } = await compareDraft({ draftId: head.runId, head }, ledger);
    expect(supersedes).toEqual([{ runId: older.runId, sims: 1 }]);
    await ledger.commit(head, "running", head.runId);
    await others.work(head);
    expect(await rowsOf(older)).toEqual([`a superseded by run ${head.runId}`]);
  });

  it("a run is as old as its start, not as its submission", async () => {
    const fleet = new Fleet();
    const waiting = await fleet.start([["a"]], ["slow"], setSpeedClass, "awaiting-approval");
    const running = await fleet.start([["a", "b"]], ["fast"]);
    expect((await ledger.run(running.runId)).supersedes).toEqual([]);
    await service.control.approve(waiting.runId, "cli:ben");
    await fleet.work(running);
    await fleet.work(waiting);
    expect(await rowsOf(running)).toEqual([`a superseded by run ${waiting.runId}`, "b done"]);
    expect(fleet.values.get("a")).toBe("slow");
  });

  it("a run that is over or on another account changes nothing about the start of a run", async () => {
    const fleet = new Fleet();
    await new Fleet().start([["a"]], ["slow"]);
    await fleet.work(await fleet.start([["a"]], ["slow"]));
    const cancelled = await fleet.start([["a"]], ["slow"]);
    await service.control.cancel(cancelled.runId);
    const newer = await fleet.start([["a"]], ["fast"]);
    expect((await ledger.run(newer.runId)).supersedes).toEqual([]);
    expect(await ledger.hold(newer.runId, [])).toBe("running");
  });
});

describe("runs that share SIMs", () => {
  const inClass = { operation: setSpeedClass, inputs: ["slow"] };
  const inSite = { operation: setTag, inputs: ["site", "Rome"] };
  const inOldSite = { operation: setTag, inputs: ["site.old", "Rome"] };
  const noTags = { operation: removeTags, inputs: [] };
  const sms = { operation: sendSms, inputs: ["hello"] };
  type Kind = typeof inClass;

  async function secondOf(first: Kind, second: Kind): Promise<{ rows: string[]; newer: RunHead }> {
    const { fleet, older } = await setup([["a"]], first.inputs, first.operation);
    const newer = await fleet.start([["a"]], second.inputs, second.operation);
    await fleet.work(newer);
    await fleet.work(older);
    return { rows: await rowsOf(older), newer };
  }

  it.each([
    ["a class and a tag", inClass, inSite],
    ["two tags, the name of one beginning with that of the other", inOldSite, inSite],
    ["an SMS and an SMS", sms, sms],
    ["a class and an SMS", inClass, sms],
  ])("both make their calls: %s", async (_, first, second) => {
    expect((await secondOf(first, second)).rows).toEqual(["a done"]);
  });

  it.each([
    ["the same tag", inSite, { ...inSite, inputs: ["site", "Oslo"] }],
    ["a tag and all tags", inSite, noTags],
    ["all tags and a tag", noTags, inSite],
  ])("only the newer one makes its call: %s", async (_, first, second) => {
    const { rows, newer } = await secondOf(first, second);
    expect(rows).toEqual([`a superseded by run ${newer.runId}`]);
  });
});

describe("the start of a run while calls of an older one are in flight", () => {
  it("its calls come after those in flight, so that its values stay", async () => {
    const { fleet, older } = await setup([["a", "b"]]);
    const { promise, resolve: answer } = Promise.withResolvers<void>();
    fleet.gate = promise;
    const working = fleet.work(older);
    await until("a call is in flight", () => fleet.calls.length === 1);
    const newer = await fleet.start([["a", "b"]], ["fast"]);
    expect(await fleet.work(newer)).toMatchObject([{ kind: "postponed", scope: "job" }]);
    expect(fleet.calls).toEqual(["a=slow"]);
    answer();
    expect(await working).toEqual([{ kind: "handed-back" }]);
    await fleet.work(newer);
    expect(fleet.calls).toEqual(["a=slow", "a=fast", "b=fast"]);
    expect(await rowsOf(older)).toEqual(["a done", `b superseded by run ${newer.runId}`]);
  });

  it("it waits for those of a cancelled run as well", async () => {
    const { fleet, older } = await setup([["a"]]);
    await ledger.hold(older.runId, ["in flight"]);
    await ledger.move(older.runId, "cancelled", ["running"]);
    const newer = await fleet.start([["a"]], ["fast"]);
    expect(await new RunWatch({ ledger }).enter(newer.runId)).toBe("yielding");
    await ledger.release(older.runId, "in flight");
    expect(await fleet.work(newer)).toMatchObject([{ kind: "finished" }]);
  });

  it("a call that must not be repeated keeps its row, until its result is known", async () => {
    const { fleet, older } = await setup([["a", "b"]], [], terminate);
    const sent = { attempts: 0, reason: "", sentAtMs: begunAtMs, owner: "one" };
    await ledger.recordTries(older.runId, 0, new Map([[0, sent]]));
    const newer = await fleet.start([["a", "b"]], [], terminate);
    expect(await overlapSettler(ledger)(newer.runId)).toBe(true);
    expect(await rowsOf(older)).toEqual(["a pending", `b superseded by run ${newer.runId}`]);
  });

  it("a row whose response was lost says so", async () => {
    const { fleet, older } = await setup([["a"]]);
    const lost = { attempts: 1, reason: "no answer", unknownSinceMs: begunAtMs };
    await ledger.recordTries(older.runId, 0, new Map([[0, lost]]));
    const newer = await fleet.start([["a"]], ["fast"]);
    await fleet.work(newer);
    const doubt = "a response was lost, so the change may have been made";
    expect(await rowsOf(older)).toEqual([`a superseded by run ${newer.runId}; ${doubt}`]);
  });

  it("a process that stood still for longer than its lease sends nothing", async () => {
    const fleet = new Fleet();
    const run = await fleet.start([["a"]], ["slow"]);
    fleet.beforeSending = () => {
      const lateMs = systemClock.monotonicMs() + 60_000;
      vi.spyOn(systemClock, "monotonicMs").mockReturnValue(lateMs);
    };
    // Handed back, if the watch has noticed it meanwhile.
    expect(["postponed", "handed-back"]).toContain((await fleet.work(run))[0]?.kind);
    expect(fleet.calls).toEqual([]);
  });

  it("a process that stood still takes its work up again, since a newer run may have come and gone", async () => {
    const { runId } = await new Fleet().start([["a"]], ["slow"]);
    const work = await new RunWatch({ ledger }).enter(runId);
    if (work === undefined || work === "yielding") throw new Error("the run is not running");
    const lateMs = systemClock.monotonicMs() + 60_000;
    vi.spyOn(systemClock, "monotonicMs").mockReturnValue(lateMs);
    await until("the work is stopped", () => work.halt.aborted);
    expect(await ledger.state(runId)).toBe("running");
    await work.leave();
  });
});

/** Keeps the next renewal of leases waiting for its answer, that the run is running. */
function holdRenewal() {
  const { promise: polled, resolve: poll } = Promise.withResolvers<void>();
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
  vi.spyOn(ledger, "hold").mockImplementationOnce(async () => {
    poll();
    await answered;
    return "running";
  });
  return { polled, answer };
}

it("calls that are in flight since before a pause do not stop the work after it", async () => {
  const { runId } = await new Fleet().start([["a"]], ["slow"]);
  const watch = new RunWatch({ ledger });
  const before = await watch.enter(runId);
  watch.observe(runId, "paused", 1);
  const { polled, answer } = holdRenewal();
  await polled;
  const after = await watch.enter(runId);
  answer();
  await yieldToEventLoop();
  if (typeof before !== "object" || typeof after !== "object") throw new Error("the run is not running");
  expect([before.halt.aborted, after.halt.aborted]).toEqual([true, false]);
  await Promise.all([before.leave(), after.leave()]);
});

describe("a run that shares no field of a SIM with an older one, as its plan found", () => {
  const options = { partial: false, skipUnchanged: false };
  const planOf = (fleet: Fleet, sim: string) =>
    service.draft({ sims: [sim] }, { profile: fleet.profile, set: { speedClass: "fast" }, options });

  it("it starts while the older one makes its calls", async () => {
    const { fleet, older } = await setup([["a"]]);
    await ledger.hold(older.runId, ["in flight"]);
    const newer = await service.submit(await planOf(fleet, "b"), { by: "cli:anna" });
    expect(await ledger.hold(older.runId, ["in flight"])).toBe("running");
    expect(await ledger.hold(newer.runId, [])).toBe("running");
  });

  it("it waits for a run that has started after the plan", async () => {
    const fleet = new Fleet();
    await fleet.start([["a"]], ["slow"]);
    const planned = await planOf(fleet, "b");
    const between = await fleet.start([["b"]], ["slow"]);
    const { runId } = await service.submit(planned, { by: "cli:anna" });
    expect((await ledger.run(runId)).supersedes).toEqual([between.runId]);
    expect(await ledger.hold(between.runId, [])).toBe("yielding");
  });
});

describe.each([
  ["first rows", "settle", 0],
  ["second rows", "settle", 1],
  ["end", "endSuperseding", 0],
] as const)("a crash while an overlap is settled, at its %s", (_, write, before) => {
  async function setupCrash() {
    const { fleet, older } = await setup([["a", "b"], ["c"], ["d"]]);
    const newer = await fleet.start([["a", "c"]], ["fast"]);
    const dying = new Ledger(collaborators);
    const real = dying[write].bind(dying) as (...args: unknown[]) => Promise<never>;
    let calls = 0;
    vi.spyOn(dying, write).mockImplementation(async (...args: unknown[]) => {
      if (calls++ === before) throw new Error("killed");
      return real(...args);
    });
    await expect(new RunWatch({ ledger: dying }).enter(newer.runId)).rejects.toThrow("killed");
    return { fleet, older, newer };
  }

  it("lets no run make a call until another process has settled it", async () => {
    const { older, newer } = await setupCrash();
    for (const { runId } of [older, newer]) expect(await ledger.hold(runId, ["new"])).toBe("yielding");
  });

  it("leaves the rows to another process, which settles each once", async () => {
    const { fleet, older, newer } = await setupCrash();
    for (const { runId } of [older, newer]) await ledger.hold(runId, ["new"]);
    await fleet.work(older);
    await fleet.work(newer);
    const reason = `superseded by run ${newer.runId}`;
    expect(await rowsOf(older)).toEqual([`a ${reason}`, "b done", `c ${reason}`, "d done"]);
    expect((await ledger.run(older.runId)).supersededBy).toEqual([{ runId: newer.runId, rows: 2 }]);
    expect(fleet.calls.toSorted()).toEqual(["a=fast", "b=slow", "c=fast", "d=slow"]);
  });
});

it("a newer run that was deleted meanwhile does not stop the older one", async () => {
  const { fleet, older } = await setup([["a"]]);
  const newer = await fleet.start([["a"]], ["fast"]);
  await redis.unlink(keys.run(newer.runId), runKeys(keys).input(newer.runId));
  await fleet.work(older);
  expect(await rowsOf(older)).toEqual(["a done"]);
});

/** The runs and SIMs of them that a draft would supersede, which sets these inputs for three SIMs. */
async function supersededBy(fleet: Fleet, inputs: string[], operation: SimOperation) {
  const head = await fleet.draft([["a", "c"], ["x"]], inputs, { operations: [operation] });
  return (await compareDraft({ draftId: head.runId, head }, ledger)).supersedes;
}

it("a plan counts the SIMs with pending changes by run, each SIM once", async () => {
  const fleet = new Fleet();
  const tags = await fleet.start([["a", "a", "b"]], ["site", "Rome"], setTag);
  const classes = await fleet.start([["a", "b"], ["c"]], ["slow"]);
  await service.control.pause(classes.runId);
  await new Fleet().start([["a"]], ["slow"]);
  await fleet.start([["a"]], ["slow"], setSpeedClass, "awaiting-approval");
  await ledger.settle(classes, 1, [{ ...rowAs("done"), key: "c" }], { calls: 1, throttled: 0 });
  expect(await supersededBy(fleet, ["fast"], setSpeedClass)).toEqual([{ runId: classes.runId, sims: 1 }]);
  expect(await supersededBy(fleet, [], removeTags)).toEqual([{ runId: tags.runId, sims: 1 }]);
  expect(await supersededBy(fleet, ["hello"], sendSms)).toEqual([]);
});
