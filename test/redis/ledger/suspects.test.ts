/** A row that kills its worker. A process that dies is one that is never heard of again: its work is left as it stands. */
import { expect, it } from "vitest";
import { systemClock } from "#core/time.ts";
import { Inventory } from "#jobs/inventory/store/inventory.ts";
import { Ledger } from "#jobs/runs/ledger/ledger.ts";
import { rowResults } from "#jobs/runs/results/results.ts";
import { execute } from "#jobs/runs/work/execute.ts";
import { Backlog } from "#jobs/runs/work/outcome-writer.ts";
import { RunWatch } from "#jobs/runs/work/run-watch.ts";
import { openTestRedis } from "../../support/redis.ts";
import { until } from "../../support/until.ts";
import { answer, clientFor, startOpenPlatform } from "../../unit/api/support.ts";
import { accountOf } from "../inventory/sync-harness.ts";
import { keptBounds, openInputs, submit } from "./run-of.ts";

const place = openTestRedis();
const storeDeps = { ...place, bounds: keptBounds, clock: systemClock };
const ledger = new Ledger(storeDeps);
/** The key of a row of the run, by its place. */
const keyOf = (row: number): string => `89423${String(row + 1).padStart(14, "0")}`;

it("a row is set aside after three deaths of its worker, and the other rows of its segment are done", async () => {
  const { runId } = await submit(ledger, [[1, 1, 1, 1, 1]]);
  const deadly = keyOf(2);
  /** Whether all calls hang, as when the process dies early, or the deadly one alone. */
  let hangsAll = true;
  const hanging: { destroy(): void }[] = [];
  await using platform = await startOpenPlatform((request, response) => {
    if (hangsAll || request.url?.includes(deadly) === true) hanging.push(request.socket);
    else answer(response, 200, { speedClass: "s1.fast" });
  });
  const stop = new AbortController();
  const ended: Promise<unknown>[] = [];
  const clients: { close(): Promise<void> }[] = [];
  const work = (deaths: number) => {
    const client = clientFor(platform.url);
    clients.push(client);
    const context = {
      ledger,
      inventory: new Inventory(storeDeps),
      clock: systemClock,
      backlog: new Backlog(),
      lanes: 3,
      watch: new RunWatch({ ledger }),
      accountFor: () => accountOf(client, "sims"),
      openInputs,
    };
    const working = execute({ runId, segment: 0, deaths }, context, stop.signal);
    ended.push(working.catch(() => undefined));
    return working;
  };
  const marks = async () => {
    const { tries } = await ledger.segment(await ledger.run(runId), 0);
    return Object.fromEntries([...tries].map(([row, { deaths }]) => [row, deaths]));
  };
  const callsFor = (key: string): number => platform.seen.filter(({ path }) => path.includes(key)).length;

  void work(0);
  await until("the first process has three calls in flight", () => callsFor(deadly) === 1);
  expect(await marks()).toEqual({});
  void work(1);
  await until("the second process has three calls in flight", () => callsFor(deadly) === 2);
  expect(await marks()).toEqual({ 0: 1, 1: 1, 2: 1 });
  hangsAll = false;
  void work(2);
  await until("the third process tries the suspects alone", () => callsFor(deadly) === 3);
  expect(await marks()).toEqual({ 2: 2 });
  expect(await work(3)).toMatchObject({ kind: "finished" });
  const rows = [];
  for await (const { outcome, reason } of rowResults(await ledger.run(runId), ledger)) rows.push({ outcome, reason });
  expect(rows.map(({ outcome }) => outcome)).toEqual(["done", "done", "failed", "done", "done"]);
  expect(rows[2]?.reason).toBe(
    "stopped: its worker crashed three times, the last time while processing this row alone",
  );
  expect(callsFor(deadly)).toBe(3);

  stop.abort();
  for (const socket of hanging) socket.destroy();
  await Promise.all(clients.map((client) => client.close()));
  await Promise.all(ended);
});

it("marks of a segment whose process did not die are taken back", async () => {
  const { runId } = await submit(ledger, [[1, 1]]);
  await using platform = await startOpenPlatform((_, response) => answer(response, 500, ""));
  const client = clientFor(platform.url);
  const context = {
    ledger,
    inventory: new Inventory(storeDeps),
    clock: systemClock,
    backlog: new Backlog(),
    lanes: 2,
    watch: new RunWatch({ ledger }),
    accountFor: () => accountOf(client, "sims"),
    openInputs,
  };
  const stop = new AbortController();
  const working = execute({ runId, segment: 0, deaths: 1 }, context, stop.signal);
  await until("both rows were tried", () => platform.seen.filter(({ path }) => path !== "/v1/auth").length >= 2);
  stop.abort();
  await working;
  const { tries } = await ledger.segment(await ledger.run(runId), 0);
  expect([...tries.values()].map(({ attempts, deaths }) => [attempts > 0, deaths])).toEqual([
    [true, undefined],
    [true, undefined],
  ]);
  await client.close();
});
