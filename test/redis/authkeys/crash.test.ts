/** Kills a process before and after every call of a rotation, and continues with new objects. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PlatformError } from "#core/errors.ts";
import type { AuthKeyDeps } from "#jobs/authkeys/step-context.ts";
import type { Sandbox } from "#sandbox/server.ts";
import { seededRandom } from "#sandbox/seeded.ts";
import { openTestRedis } from "../../support/redis.ts";
import { type Boundary, Crash, KeyHarness, sandboxFor, type Who } from "./key-harness.ts";

const { redis, keys } = openTestRedis();
let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await sandboxFor({ revokeKillsPairs: true });
});
afterAll(() => sandbox.close());

function refusing(deps: AuthKeyDeps): AuthKeyDeps {
  const facts = { operation: "auth", status: 401 };
  const prove = () => Promise.reject(new PlatformError("PLATFORM_UNAUTHORIZED", "auth: not authorized", facts));
  const { account } = deps;
  const rest = {
    list: (signal?: AbortSignal) => account.list(signal),
    create: (signal?: AbortSignal) => account.create(signal),
    revoke: (id: string, signal?: AbortSignal) => account.revoke(id, signal),
  };
  return { ...deps, account: { ...rest, prove } };
}

const ways: readonly { name: string; change: KeyHarness["change"]; withSpare: boolean; end: "done" | "failed" }[] = [
  { name: "one that succeeds", change: (deps) => deps, withSpare: false, end: "done" },
  { name: "one that makes room first", change: (deps) => deps, withSpare: true, end: "done" },
  { name: "one that is taken back", change: refusing, withSpare: false, end: "failed" },
];

async function begun(who: Who, way: (typeof ways)[number]): Promise<KeyHarness> {
  const harness = new KeyHarness({ redis, keys, sandbox, who });
  harness.change = way.change;
  await harness.begin(way.withSpare ? sandbox.accounts.authKeys.create(harness.userName).authKeyId : undefined);
  return harness;
}

/** Dies at the boundary with this number. */
function diesAt(number: number, passed: { boundaries: string[] } = { boundaries: [] }): Boundary {
  return (call, when) => {
    passed.boundaries.push(`${when} ${call}`);
    if (passed.boundaries.length === number) throw new Crash(`${when} ${call}`);
  };
}

/** Expects one of the two allowed final states, with valid credentials. */
async function judge(harness: KeyHarness, end: "done" | "failed"): Promise<void> {
  const record = await harness.record();
  expect(record.phase).toBe(end);
  expect(harness.ids()).toEqual([end === "done" ? record.newId : harness.old]);
  expect(harness.inFile()).toEqual({ id: harness.ids()[0], isGood: true });
  expect(record.sealed).toBeUndefined();
  const events = await harness.events();
  const lasts = events.filter((event) => /^authkey\.(rotated|failed)/.test(event));
  expect(lasts).toHaveLength(1);
}

describe.each<Who>(["root", "sub-user"])("a rotation of a %s's AuthKey that dies anywhere:", (who) => {
  it.each(ways)("$name", { timeout: 120_000 }, async (way) => {
    const whole = { boundaries: [] as string[] };
    const unharmed = await begun(who, way);
    await unharmed.live(diesAt(0, whole));
    await judge(unharmed, way.end);
    // The number of looks at the end is a matter of time: what is beyond the first hundred is more of the same.
    const count = Math.min(whole.boundaries.length, 120);
    expect(new Set(whole.boundaries).size).toBeGreaterThan(14);
    for (let number = 1; number <= count; number += 1) {
      const harness = await begun(who, way);
      await harness.live(diesAt(number)).catch((thrown: unknown) => {
        if (!(thrown instanceof Crash)) throw thrown;
      });
      expect(harness.inFile().isGood).toBe(true);
      await harness.live();
      await judge(harness, way.end);
    }
  });
});

it("a rotation that dies again and again, with answers lost in between, ends in one of the two states", async () => {
  const seen = new Set<string>();
  for (let seed = 1; seed <= 40; seed += 1) {
    const random = seededRandom(seed);
    const way = ways[seed % ways.length] ?? ways[0];
    if (way === undefined) throw new Error("there are ways");
    const harness = await begun(seed % 2 === 0 ? "root" : "sub-user", way);
    for (let life = 0; life < 6; life += 1) {
      const boundary: Boundary = (call, when) => {
        if (when === "before" && call.startsWith("account.") && call !== "account.prove" && random() < 0.15) {
          sandbox.faults.next("lost-answer");
        }
        if (random() < 0.06) {
          seen.add(`${when} ${call}`);
          throw new Crash();
        }
      };
      await harness.live(boundary, 40).catch((thrown: unknown) => {
        if (!(thrown instanceof Crash)) throw thrown;
      });
      expect(harness.inFile().isGood).toBe(true);
    }
    sandbox.faults.reset();
    await harness.live();
    const { phase } = await harness.record();
    if (phase !== "done" && phase !== "failed") throw new Error(`seed ${seed} ended in ${phase}`);
    await judge(harness, phase);
  }
  expect(seen.size).toBeGreaterThan(14);
}, 120_000);
