/** Segments whose workers die. A process that dies is never heard of again: its work is left as it stands. */
import { expect, it, onTestFinished } from "vitest";
import { systemClock } from "#core/time.ts";
import { poisonGuard } from "#engine/poison-guard.ts";
import { beforeAll, Feed } from "#events/feed.ts";
import { Ledger } from "#jobs/runs/ledger/ledger.ts";
import { execute } from "#jobs/runs/work/execute.ts";
import { openTestRedis } from "../../support/redis.ts";
import { until } from "../../support/until.ts";
import { answer, clientFor, startOpenPlatform } from "../../unit/api/support.ts";
import { accountOf } from "../inventory/sync-harness.ts";
import { keptBounds, readResults, submit } from "./run-of.ts";
import { workContext } from "./work-context.ts";

const place = openTestRedis();
const collaborators = { ...place, bounds: keptBounds, clock: systemClock };
const ledger = new Ledger(collaborators);
const reason = "stopped: its worker crashed three times while processing this";
/** The key of a row of the run, by its place. */
const keyOf = (row: number): string => `89423${String(row + 1).padStart(14, "0")}`;

/** A run of five rows in one segment, and a platform on which calls hang that would kill the worker. */
async function setup(kills: (key: string) => boolean) {
  const { runId } = await submit(ledger, [[1, 1, 1, 1, 1]]);
  const hanging: { destroy(): void }[] = [];
  const platform = await startOpenPlatform((request, response) => {
    const key = /\d{19}/.exec(request.url ?? "")?.[0] ?? "";
    if (kills(key)) hanging.push(request.socket);
    else answer(response, 200, { speedClass: "s1.fast" });
  });
  const stop = new AbortController();
  const lives: Promise<unknown>[] = [];
  /** Works in a process of its own, with which `deaths` others have died. */
  const work = (deaths: number) => {
    const client = clientFor(platform.url);
    const dead = { announce: () => Promise.resolve(() => Promise.resolve()) };
    const context = workContext(collaborators, {
      account: () => accountOf(client, "sims"),
      guard: poisonGuard({ ...place, workerRegistry: dead, onQuarantined: () => undefined }),
    });
    const working = execute({ runId, segment: 0, deaths }, context, stop.signal);
    lives.push(working.catch(() => undefined).then(() => client.close()));
    return working;
  };
  onTestFinished(async () => {
    stop.abort();
    for (const socket of hanging) socket.destroy();
    await Promise.all(lives);
    await platform[Symbol.asyncDispose]();
  });
  const rows = async () => (await readResults(ledger, runId)).map(({ outcome, reason: why }) => [outcome, why]);
  const callsFor = (key: string): number => platform.seen.filter(({ path }) => path.includes(key)).length;
  return { runId, work, rows, callsFor, hanging };
}

/** A run with a row that has killed three workers alone; before, one died with calls of others. */
async function setupDeadlyRow() {
  const deadly = keyOf(2);
  let isFirst = true;
  const { hanging, ...made } = await setup((key) => key !== "" && (isFirst || key === deadly));
  void made.work(0);
  await until("the first process has three calls in flight", () => hanging.length === 3);
  isFirst = false;
  for (let deaths = 1; deaths <= 3; deaths += 1) {
    void made.work(deaths);
    await until("the deadly row is tried", () => made.callsFor(deadly) === deaths + 1);
  }
  return { deadly, ...made };
}

it("a row that kills three workers alone fails, and the other rows are done", async () => {
  const { runId, deadly, work, rows, callsFor } = await setupDeadlyRow();
  const problem = /^a worker crashed or stood still while it processed rows of this run/;
  expect((await ledger.run(runId)).problem?.message).toMatch(problem);
  expect(await work(4)).toMatchObject({ kind: "finished" });
  expect(callsFor(deadly)).toBe(4);
  const done = ["done", ""];
  expect(await rows()).toEqual([done, done, ["failed", reason], done, done]);
});

it("a row that kills three workers alone is quarantined with an event", async () => {
  const { runId, deadly, work } = await setupDeadlyRow();
  await work(4);
  const { events } = await new Feed(collaborators).after(beforeAll, 1_000);
  const reported = events.filter(({ type, fields }) => type === "run.row-quarantined" && fields.run === runId);
  expect(reported.map(({ fields }) => fields.reason)).toEqual([`line 4, SIM ${deadly}: ${reason}`]);
});

it("eight deaths that no row has caused quarantine no row", async () => {
  let isHanging = true;
  const { work, rows, hanging } = await setup((key) => key !== "" && isHanging);
  for (let deaths = 0; deaths < 8; deaths += 1) {
    const before = hanging.length;
    void work(deaths);
    await until("a call is in flight", () => hanging.length > before);
  }
  isHanging = false;
  // A life before it that had not sent its call yet may have done the rest.
  expect((await work(8)).kind).toMatch(/^(finished|parked)$/);
  expect((await rows()).map(([outcome]) => outcome)).toEqual(["done", "done", "done", "done", "done"]);
});
