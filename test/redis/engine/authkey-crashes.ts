/** Rotations of AuthKeys, to be killed: the profile's file always holds an AuthKey that the platform accepts. */
import { expect } from "vitest";
import { PlatformError } from "#core/errors.ts";
import type { AuthKeyDeps } from "#jobs/authkeys/work.ts";
import { isRotationOver } from "#jobs/credentials/rotation-machine.ts";
import type { Sandbox } from "#sandbox/server.ts";
import type { TestRedis } from "../../support/redis.ts";
import { accountWith, KeyHarness, type Who } from "../authkeys/key-harness.ts";
import type { CrashCase, CrashSubject } from "./crashes.ts";

type Place = Pick<TestRedis, "redis" | "keys"> & { readonly sandbox: Sandbox };

interface Way {
  readonly name: string;
  readonly change?: KeyHarness["change"];
  /** Both slots are taken, and the user named one to revoke. */
  readonly withSpare?: true;
  readonly end: "done" | "failed";
  readonly states: readonly string[];
}

/** The old AuthKey is revoked as soon as it is out of use, so that the number of polls does not depend on time. */
function withoutGrace(deps: AuthKeyDeps): AuthKeyDeps {
  return { ...deps, quietMs: 0 };
}

/** The platform rejects the new AuthKey. */
function refusing(deps: AuthKeyDeps): AuthKeyDeps {
  const facts = { operation: "auth", status: 401 };
  const prove = () => Promise.reject(new PlatformError("PLATFORM_UNAUTHORIZED", "auth: not authorized", facts));
  return { ...deps, account: accountWith(deps, { prove }) };
}

const afterCreation = ["created", "verified", "delivered", "active", "revoking", "revoked", "done"];
const ways: readonly Way[] = [
  { name: "", end: "done", states: ["begun", "creating", ...afterCreation] },
  {
    name: " that makes room first",
    withSpare: true,
    end: "done",
    states: ["begun", "making-room", "creating", ...afterCreation],
  },
  {
    name: " that is rolled back",
    change: refusing,
    end: "failed",
    states: ["begun", "creating", "created", "taking-back", "failed"],
  },
];

async function begun(place: Place, who: Who, way: Way): Promise<CrashSubject & { readonly harness: KeyHarness }> {
  const harness = new KeyHarness({ ...place, who });
  harness.change = (deps) => withoutGrace(way.change?.(deps) ?? deps);
  harness.isSettling = true;
  const { authKeys } = place.sandbox.accounts;
  await harness.begin(way.withSpare === undefined ? undefined : authKeys.create(harness.userName).authKeyId);
  return {
    harness,
    work: async (around) => void (await harness.live(around, 40)),
    state: async () => (await harness.record()).state,
    isOver: async () => isRotationOver(await harness.record()),
    check: () => expect(harness.inFile().isGood).toBe(true),
    checkEnd: () => endOf(harness),
  };
}

async function endOf(harness: KeyHarness): Promise<string> {
  const { state, newId, sealed } = await harness.record();
  expect(harness.ids()).toEqual([state === "done" ? newId : harness.old]);
  expect(harness.inFile()).toEqual({ id: harness.ids()[0], isGood: true });
  expect(sealed).toBeUndefined();
  const lasts = (await harness.events()).filter((event) => /^authkey\.(rotated|failed)/.test(event));
  expect(lasts).toHaveLength(1);
  return state;
}

export const authKeyCases = (place: Place): readonly CrashCase[] =>
  (["root", "sub-user"] as const).flatMap((who) =>
    ways.map((way) => ({
      name: `a rotation of a ${who}'s AuthKey${way.name}`,
      begin: () => begun(place, who, way),
      end: way.end,
      states: way.states,
    })),
  );

/** With lost responses of the platform in the first processes. */
export async function beginAuthKeyBySeed(place: Place, seed: number, random: () => number): Promise<CrashSubject> {
  const way = ways[seed % ways.length] ?? ways[0];
  if (way === undefined) throw new Error("there are ways");
  const subject = await begun(place, seed % 2 === 0 ? "root" : "sub-user", way);
  const { harness } = subject;
  let lives = 0;
  harness.change = (deps) => {
    const changed = way.change?.(deps) ?? deps;
    const account = accountWith(changed);
    const losing = async <T>(call: () => Promise<T>): Promise<T> => {
      if (lives <= 6 && random() < 0.15) place.sandbox.faults.next("lost-answer");
      return call();
    };
    return {
      ...changed,
      account: {
        ...account,
        list: (signal) => losing(() => account.list(signal)),
        create: (signal) => losing(() => account.create(signal)),
        revoke: (id, signal) => losing(() => account.revoke(id, signal)),
      },
    };
  };
  const work: CrashSubject["work"] = (around) => {
    lives += 1;
    if (lives > 6) place.sandbox.faults.reset();
    return subject.work(around);
  };
  return { ...subject, work };
}
