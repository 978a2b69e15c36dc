/**
 * A crash between any two steps of a rotation, and lost answers on top: it ends in one of two states, and the secret is
 * one and the same everywhere. A process that dies is one whose objects throw from some call on and are never used again.
 */
import { describe, expect, it } from "vitest";
import { Secret, liveSecrets } from "#core/secret.ts";
import { PlatformError } from "#core/errors.ts";
import type { Rotation } from "#fleet/rotation.ts";
import { seededRandom } from "#sandbox/seeded.ts";
import { seeds } from "../../support/long.ts";
import { openTestRedis } from "../../support/redis.ts";
import { type Between, oldSecret, RotationHarness } from "./rotation-harness.ts";

const place = openTestRedis();

class Crash extends Error {}

/** Counts the boundaries before and after every call of what the work works with, and dies at some of them. */
class Death {
  passed = 0;
  readonly #at: (boundary: number) => boolean;
  readonly #seen: () => Promise<void>;
  #isDead = false;

  constructor(at: (boundary: number) => boolean, seen: () => Promise<void>) {
    this.#at = at;
    this.#seen = seen;
  }

  #boundary(): void {
    if (this.#isDead || this.#at(this.passed)) {
      this.#isDead = true;
      throw new Crash(`dead at boundary ${this.passed}`);
    }
    this.passed += 1;
  }

  readonly between: Between = <T extends object>(_name: string, thing: T): T =>
    new Proxy(thing, {
      get: (target, property) => {
        const value: unknown = Reflect.get(target, property, target);
        if (typeof value !== "function") return value;
        return (...args: unknown[]): unknown => {
          this.#boundary();
          const result: unknown = value.apply(target, args);
          if (isGenerator(result)) return this.#walk(result);
          return Promise.resolve(result).then(async (settled) => {
            await this.#seen();
            this.#boundary();
            return settled;
          });
        };
      },
    });

  async *#walk(pages: AsyncGenerator): AsyncGenerator {
    for await (const page of pages) {
      this.#boundary();
      yield page;
    }
    this.#boundary();
  }
}

function isGenerator(value: unknown): value is AsyncGenerator {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

/** Works on in one process after the other until the rotation is over. */
async function workThroughDeaths(harness: RotationHarness, at: (boundary: number) => boolean) {
  const sealed = new Set<string>();
  const deaths: string[] = [];
  let before = 0;
  for (let life = 0; life < 400; life += 1) {
    const death = new Death(
      (boundary) => at(before + boundary),
      async () => {
        const value = await harness.sealed().catch(() => undefined);
        if (value !== undefined) sealed.add(value);
      },
    );
    try {
      const result = await harness.work(harness.context(death.between));
      before += death.passed;
      if (result.kind === "ended") return { deaths, sealed };
      if (result.kind === "postponed") harness.clock.pass(result.delayMs);
    } catch (thrown) {
      if (!(thrown instanceof Crash)) throw thrown;
      before += death.passed + 1;
      deaths.push((await harness.record()).state);
    }
  }
  throw new Error(`not over after 400 processes: ${JSON.stringify(await harness.record())}`);
}

interface Before {
  readonly configurations: string;
}

/** @returns which of the two allowed states it is; throws in any other */
async function stateOf(harness: RotationHarness, before: Before, sealed: ReadonlySet<string>): Promise<"new" | "old"> {
  const { state, newId, oldId = "", handedTo, sealed: left } = await harness.record();
  expect(left).toBeUndefined();
  const sets = harness.sets;
  const now = JSON.stringify(harness.configurations);
  if (handedTo.length > 0) expect([...sealed]).toHaveLength(1);
  const handed = [...new Set([...(harness.handed === undefined ? [] : [harness.handed]), ...harness.heard])];
  if (handed.length > 0) expect(handed).toEqual([...sealed]);
  if (state === "done") {
    expect(sets).toEqual({ [newId]: handed[0] });
    expect(handedTo).toHaveLength(harness.rotation.sinks.length);
    expect(now).toBe(before.configurations.replaceAll(`credentialsId":"${oldId}"`, `credentialsId":"${newId}"`));
    return "new";
  }
  expect(state).toBe("failed");
  expect(sets).toEqual({ [oldId]: oldSecret });
  expect(now).toBe(before.configurations);
  return "old";
}

async function harnessWith(rotation: Partial<Rotation>, faults: Record<string, number> = {}, seed = 1) {
  const harness = await RotationHarness.open({
    place,
    withWebhook: true,
    rotation,
    sandbox: { seed, faults, pageSize: 2 },
  });
  harness.makeOldSet();
  harness.nameInGroups(harness.rotation.credentialsId);
  const before = { configurations: JSON.stringify(harness.configurations) };
  return { harness, before };
}

/** The platform refuses a kind of call from the n-th one on, as one does that has changed its mind. */
function refuse(harness: RotationHarness, namespace: string): void {
  const { groups } = harness.sandbox.state;
  const configure = groups.configure.bind(groups);
  groups.configure = (groupId, name, entries) => {
    const isForward = JSON.stringify(entries).includes('Z"');
    return configure(groupId, name === namespace && isForward ? "not one" : name, entries);
  };
}

interface Case {
  readonly name: string;
  readonly rotation?: Partial<Rotation>;
  readonly end: "new" | "old";
  readonly states: readonly string[];
  readonly prepare?: (harness: RotationHarness) => unknown;
}

/** The states in which a process dies; `done` and `failed` where it dies of the news that it has ended. */
const forward = ["planned", "generated", "handed-over", "created", "repointed", "done"];
const inPlace = ["planned", "generated", "handed-over", "updated", "done"];
const beforePlatform = ["planned", "generated", "rolling-back", "failed"];
const backFromGroups = ["planned", "generated", "handed-over", "created", "rolling-back", "failed"];

describe("a crash at every boundary", () => {
  it.each<Case>([
    { name: "of a rotation by a successor ends with the new secret", end: "new", states: forward },
    {
      name: "of a rotation in place ends with the new secret",
      rotation: { strategy: "in-place" },
      end: "new",
      states: inPlace,
    },
    {
      name: "of one whose last sink refuses ends with the old secret",
      end: "old",
      states: beforePlatform,
      prepare: (harness) => harness.answers.push(410),
    },
    {
      name: "of one whose last group may not be changed ends with the old secret",
      end: "old",
      states: backFromGroups,
      prepare: (harness) => refuse(harness, "SoracomFunk"),
    },
  ])("$name", { timeout: 120_000 }, async ({ rotation = {}, end, states, prepare }) => {
    const covered: string[] = [];
    for (let boundary = 0; ; boundary += 1) {
      const { harness, before } = await harnessWith(rotation);
      prepare?.(harness);
      await harness.begin();
      const { deaths, sealed } = await workThroughDeaths(harness, (at) => at === boundary);
      // A webhook that refused a process that died without saving it does so again.
      const isSettled = await stateOf(harness, before, sealed);
      if (end === "new") expect(isSettled).toBe("new");
      if (deaths.length === 0) {
        expect(isSettled).toBe(end);
        break;
      }
      covered.push(...deaths);
    }
    expect(covered.length).toBeGreaterThan(20);
    expect(new Set(covered)).toEqual(new Set(states));
  });
});

it("many crashes by seed, with answers that are lost and a platform that stumbles, end the same way", async () => {
  const ends: Record<string, number> = {};
  for (let seed = 1; seed <= seeds(12, 60); seed += 1) {
    const random = seededRandom(seed);
    const faults = {
      "lost-answer": 0.1,
      truncated: 0.1,
      reset: 0.05,
      "html-502": 0.05,
      "empty-500": 0.05,
      "expire-pairs": 0.02,
    };
    const { harness, before } = await harnessWith(
      { strategy: seed % 4 === 0 ? "in-place" : "successor" },
      faults,
      seed,
    );
    if (seed % 5 === 0) harness.answers.push(503, 503, 500, 410);
    if (seed % 7 === 0) refuse(harness, "SoracomBeam");
    for (;;) {
      // The look beforehand meets the same platform.
      const thrown: unknown = await harness.begin().catch((error: unknown) => error);
      if (!(thrown instanceof PlatformError)) break;
    }
    const { sealed } = await workThroughDeaths(harness, (at) => at < 2_000 && random() < 0.04);
    const end = await stateOf(harness, before, sealed);
    ends[end] = (ends[end] ?? 0) + 1;
  }
  expect(Object.keys(ends).sort()).toEqual(["new", "old"]);
}, 240_000);

it("leaves no secret registered for redaction", async () => {
  const { harness } = await harnessWith({});
  const known = new Set(liveSecrets());
  await harness.begin();
  await harness.workToEnd();
  const left = liveSecrets().filter((secret) => !known.has(secret) && secret === harness.handed);
  expect(left).toEqual([]);
  expect(new Secret("x").toString()).toBe("[secret]");
});
