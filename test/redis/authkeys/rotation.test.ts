import { afterAll, describe, expect, it } from "vitest";
import { PlatformError } from "#core/errors.ts";
import { liveSecrets } from "#core/secrets/secret.ts";
import type { AuthKeyDeps } from "#jobs/authkeys/work.ts";
import { openTestRedis } from "../../support/redis.ts";
import { Crash } from "../engine/crashes.ts";
import { accountWith, KeyHarness, sandboxFor, type Who } from "./key-harness.ts";

const { redis, keys } = openTestRedis();
const sandbox = await sandboxFor();
afterAll(() => sandbox.close());

const setup = (who: Who = "root"): KeyHarness => new KeyHarness({ redis, keys, sandbox, who });

/** Lets these calls to the account do something else. */
function changeAccount(harness: KeyHarness, callsOf: (parts: AuthKeyDeps) => Parameters<typeof accountWith>[1]): void {
  harness.change = (parts) => ({ ...parts, account: accountWith(parts, callsOf(parts)) });
}

/** Lets something happen as soon as a rotation is recorded as revoking. */
function doOnceRevoking(harness: KeyHarness, act: () => Promise<void>): void {
  harness.change = ({ log, ...parts }) => {
    const move: typeof log.move = async (record, change, options) => {
      const reply = await log.move(record, change, options);
      if (change.state === "revoking") await act();
      return reply;
    };
    return { ...parts, log: { ...log, move } };
  };
}

/** Another user creates an AuthKey and uses it. */
function createUsedKey(): void {
  const { authKeys } = sandbox.accounts;
  authKeys.noteUse(authKeys.create(undefined).authKeyId);
}

/** Begins a rotation and works on it, to its end unless it waits for longer than so many polls. */
async function rotate(
  harness: KeyHarness,
  { replaceId, polls }: { replaceId?: string | undefined; polls?: number } = {},
) {
  await harness.begin(replaceId);
  return harness.live(undefined, polls);
}

/** Rotates to the end, after which the new AuthKey is the only one. */
async function rotateToEnd(harness: KeyHarness, replaceId?: string) {
  const record = await rotate(harness, { replaceId });
  expect(record.state).toBe("done");
  expect(harness.ids()).toEqual([record.newId]);
  return { ...record, newId: record.newId ?? "" };
}

/** Lets the platform reject each new AuthKey, for a reason that may repeat its secret. */
function rejectKeys(harness: KeyHarness, reasonFor: (secret: string) => PlatformError): void {
  changeAccount(harness, () => ({ prove: ({ authKey }) => Promise.reject(reasonFor(authKey.reveal())) }));
}

describe.each<Who>(["root", "sub-user"])("AuthKey rotation of a %s", (who) => {
  it("an AuthKey rotation completes from listing to revocation with an event for each change", async () => {
    const harness = setup(who);
    const { newId, oldId, sealed } = await rotateToEnd(harness);
    expect([oldId, sealed]).toEqual([harness.old, undefined]);
    expect(harness.inFile()).toEqual({ id: newId, isGood: true });
    expect(await harness.events()).toEqual([
      `authkey.created ${newId}`,
      `authkey.verified ${newId}`,
      `authkey.delivered ${newId}`,
      "authkey.revoked rotated",
      `authkey.rotated ${newId}`,
    ]);
  });

  it("an AuthKey rotation with both slots in use requires the user to name the AuthKey to revoke first", async () => {
    const harness = setup(who);
    const { authKeyId: spare } = sandbox.accounts.authKeys.create(harness.userName);
    const refused = await rotate(harness);
    expect(refused).toMatchObject({ state: "failed" });
    expect(refused.reason).toContain(`To revoke one first, add --replace ${spare}.`);
    expect(refused.reason).toContain(`${harness.old} (created `);
    expect(harness.ids()).toEqual([harness.old, spare]);
    const { newId } = await rotateToEnd(harness, spare);
    expect((await harness.events()).slice(1, 3)).toEqual(["authkey.revoked replaced", `authkey.created ${newId}`]);
  });

  it("an AuthKey rotation completes after lost responses to the creation and the revocation", async () => {
    const harness = setup(who);
    const lost: string[] = [];
    const lose = (call: string): void => {
      if (!lost.includes(call)) sandbox.faults.next("lost-answer");
      lost.push(call);
    };
    changeAccount(harness, ({ account }) => ({
      create: (signal) => (lose("create"), account.create(signal)),
      revoke: (id, signal) => (id === harness.old && lose("revoke"), account.revoke(id, signal)),
    }));
    await rotateToEnd(harness);
    expect(lost).toEqual(["create", "create", "revoke", "revoke"]);
    expect(await harness.events()).toContain("authkey.revoked lost");
  });
});

describe("AuthKeys in use by another process", () => {
  it("an AuthKey rotation waits to revoke the old AuthKey while another process uses it", async () => {
    const harness = setup();
    await harness.users.say(harness.profile, "w-2", harness.old);
    const waiting = await rotate(harness, { polls: 60 });
    expect(waiting).toMatchObject({ state: "active" });
    expect(waiting.reason).toBe(`waiting until ${harness.old} is unused; w-2 still uses it`);
    expect(harness.ids()).toContain(harness.old);
    await harness.users.say(harness.profile, "w-2", waiting.newId);
    expect((await harness.live()).state).toBe("done");
  });

  it("an AuthKey rotation does not revoke the old AuthKey if its use starts at the last moment", async () => {
    const harness = setup();
    doOnceRevoking(harness, () => harness.users.say(harness.profile, "w-3", harness.old));
    expect((await rotate(harness, { polls: 60 })).state).toBe("active");
    expect(harness.ids()).toContain(harness.old);
    harness.change = (parts) => parts;
    await harness.users.say(harness.profile, "w-3", undefined);
    expect((await harness.live()).state).toBe("done");
  });

  it("an AuthKey rotation does not revoke the AuthKey named to make room while it is in use", async () => {
    const harness = setup();
    const { authKeyId: spare } = sandbox.accounts.authKeys.create(undefined);
    await harness.users.say(harness.profile, "w-2", spare);
    expect((await rotate(harness, { replaceId: spare })).reason).toContain(`${spare} is in use by w-2`);
    expect((await rotate(harness, { replaceId: harness.old })).reason).toContain(`${harness.old} is in use here`);
    expect(harness.ids()).toEqual([harness.old, spare]);
  });

  it("an AuthKey rotation does not revoke the old AuthKey while a program other than simfleet uses it", async () => {
    const harness = setup();
    harness.change = (parts) => ({ ...parts, quietMs: 4_000 });
    const first = await rotate(harness, { polls: 20 });
    expect(first.state).toBe("active");
    // The platform reports the last use in seconds.
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    sandbox.accounts.authKeys.noteUse(harness.old);
    const second = await harness.live(undefined, 20);
    expect(second.reason).toMatch(/is revoked then if it stays unused|another program still uses it/);
    expect(second.quietSinceMs).toBeGreaterThan(first.quietSinceMs ?? 0);
    expect((await harness.live()).state).toBe("done");
  });
});

/** What is stored of a rotation after a turn, after two more and at its end, and the events. */
async function storedOf(harness: KeyHarness) {
  const records: string[] = [];
  await harness.begin();
  for (const turns of [1, 2, undefined]) {
    await harness.live(undefined, turns);
    records.push(JSON.stringify(await harness.record()));
  }
  return { records: records.join(), events: JSON.stringify(await redis.xrange(keys.events(), "-", "+")) };
}

it("an AuthKey rotation stores nothing of a secret that the platform echoes", async () => {
  const harness = setup();
  const secrets: string[] = [];
  rejectKeys(harness, (shown) => {
    secrets.push(shown);
    const code = secrets.length < 3 ? "PLATFORM_UNAVAILABLE" : "PLATFORM_UNAUTHORIZED";
    return new PlatformError(code, `auth: no such key: ${shown}`, { operation: "auth" });
  });
  const { records, events } = await storedOf(harness);
  const [secret = "none"] = secrets;
  expect(records).toContain("auth: no such key: [secret]");
  expect(records + events).not.toContain(secret);
  expect(liveSecrets()).not.toContain(secret);
});

describe("AuthKey rotations that cannot continue", () => {
  it("an AuthKey rotation is rolled back when the platform does not accept the new AuthKey", async () => {
    const harness = setup();
    const facts = { operation: "auth", status: 401 };
    rejectKeys(harness, () => new PlatformError("PLATFORM_UNAUTHORIZED", "auth: not authorized", facts));
    const record = await rotate(harness);
    expect(record).toMatchObject({ state: "failed", reason: expect.stringContaining("is not accepted") });
    expect(harness.ids()).toEqual([harness.old]);
    expect(harness.inFile()).toEqual({ id: harness.old, isGood: true });
    expect((await harness.events()).slice(-2)).toEqual([
      "authkey.revoked taken-back",
      `authkey.failed ${record.reason}`,
    ]);
  });

  it("an AuthKey rotation keeps both AuthKeys after a failed command that may have passed on the new one", async () => {
    const harness = setup();
    harness.sinks = [...harness.sinks, { command: ["/bin/false"] }];
    const waiting = await rotate(harness, { polls: 20 });
    expect(waiting).toMatchObject({ state: "verified", reason: expect.stringContaining("/bin/false") });
    expect(waiting.problem).toMatchObject({ message: waiting.reason, attempts: waiting.tries });
    expect(waiting.problem?.nextAttemptMs).toBeGreaterThan(waiting.problem?.sinceMs ?? 0);
    expect(harness.ids()).toHaveLength(2);
    harness.sinks = [...harness.sinks.slice(0, 1), { command: ["/bin/cat"] }];
    expect((await harness.live()).state).toBe("done");
  });

  it("an AuthKey rotation leaves an AuthKey unchanged that another user creates in the meantime", async () => {
    const harness = setup();
    changeAccount(harness, () => ({
      create: () => {
        createUsedKey();
        return Promise.reject(new Crash());
      },
    }));
    await expect(rotate(harness)).rejects.toBeInstanceOf(Crash);
    const [, other] = harness.ids();
    harness.change = (parts) => parts;
    const record = await harness.live();
    expect(record).toMatchObject({ state: "failed", reason: expect.stringContaining(`created the AuthKey ${other}`) });
    expect(harness.ids()).toEqual([harness.old, other]);
  });
});
