import { describe, expect, it } from "vitest";
import { authKeyRotations } from "#jobs/authkeys/record.ts";
import { stateStore } from "#engine/record.ts";
import { rotationLog } from "#jobs/credentials/record.ts";
import { openTestRedis } from "../../support/redis.ts";
import { keptBounds } from "../ledger/run-of.ts";

const { redis, keys } = openTestRedis();
const deps = { redis, keys, bounds: keptBounds };
const rotations = authKeyRotations(deps);
const log = rotationLog(deps);

const head = {
  profile: "p",
  rotationId: "t-1",
  strategy: "successor",
  type: "psk",
  newId: "new",
  startedAtMs: 5,
} as const;

interface Counter {
  readonly profile: string;
  readonly revision?: number;
  readonly count: number;
  readonly last?: { readonly by: string };
}
const counters = stateStore<Counter>({ numbers: ["count"], json: ["last"] }, deps, (name) => `${keys.prefix}:${name}`);

describe("durable records", () => {
  it("a durable record is started only once until its work is over", async () => {
    const first = await log.begin({ ...head, name: "once" });
    expect(await log.begin({ ...head, name: "once", rotationId: "t-2" })).toEqual(first);
    await log.move(first, { state: "done" });
    expect((await log.begin({ ...head, name: "once", rotationId: "t-2" })).rotationId).toBe("t-2");
  });

  it("a durable record keeps only permanent fields when its work starts again", async () => {
    const first = await log.begin({ ...head, name: "kept", oldId: "old" });
    await log.move(first, { state: "done", currentId: "new", rotatedAtMs: 7, reason: "a reason", groups: ["g-1"] });
    const second = await log.begin({ ...head, name: "kept", rotationId: "t-2" });
    expect(second).toMatchObject({ state: "planned", currentId: "new", rotatedAtMs: 7, groups: [] });
    expect(second).not.toHaveProperty("oldId");
    expect(second).not.toHaveProperty("reason");
  });

  it("a durable record is changed by only one of two processes that read the same state", async () => {
    const record = await rotations.begin({ name: "two", profile: "two" }, { rotationId: "k-1" });
    const replies = [rotations.move(record, { state: "creating" }), rotations.move(record, { state: "making-room" })];
    expect((await Promise.all(replies)).map((reply) => typeof reply).toSorted()).toEqual(["object", "string"]);
  });

  it("a durable record clears its wait and problem when it enters another state", async () => {
    const record = await rotations.begin({ name: "waits", profile: "waits" }, { rotationId: "k-1" });
    const problem = { message: "m", sinceMs: 1, attempts: 2, nextAttemptMs: 3 };
    const waiting = await rotations.move(record, { reason: "w", tries: 2, problem });
    expect(await rotations.record("waits")).toMatchObject({ reason: "w", tries: 2, problem });
    expect(waiting).toEqual(await rotations.record("waits"));
    expect(await rotations.move(record, { state: "creating" })).toBe("stale");
    if (typeof waiting !== "string") await rotations.move(waiting, { state: "creating" });
    const moved = await rotations.record("waits");
    expect(moved).toMatchObject({ state: "creating", tries: 0 });
    for (const gone of ["problem", "reason"]) expect(moved).not.toHaveProperty(gone);
  });

  it("a durable record exists from its first update, which is recomputed when another process changes it", async () => {
    const counter = { name: "counter", profile: "p" };
    expect(await counters.get("counter")).toBeUndefined();
    const countUp = (by: string): Promise<Counter | undefined> =>
      counters.update(counter, (present) => ({ change: { count: (present?.count ?? 0) + 1, last: { by } } }));
    await Promise.all(["a", "b", "c", "d"].map(countUp));
    expect(await counters.get("counter")).toMatchObject({ count: 4, revision: 4, last: { by: expect.any(String) } });
    expect(await counters.update(counter, () => undefined)).toBeUndefined();
    expect(await counters.get("counter")).toMatchObject({ revision: 4 });
  });
});
