import { chmodSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PlatformError } from "#core/errors.ts";
import { liveSecrets } from "#core/secret.ts";
import type { Sandbox } from "#sandbox/server.ts";
import { openTestRedis } from "../../support/redis.ts";
import { Crash, KeyHouse, sandboxFor, type Who } from "./key-house.ts";

const { redis, keys } = openTestRedis();
let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await sandboxFor();
});
afterAll(() => sandbox.close());

const open = (who: Who = "root"): KeyHouse => new KeyHouse({ redis, keys, sandbox, who });

describe.each<Who>(["root", "sub-user"])("an AuthKey of a %s is rotated", (who) => {
  it("from its listing to its end, with an event for each change", async () => {
    const house = open(who);
    await house.begin();
    const record = await house.live();
    expect(record).toMatchObject({ phase: "done", oldId: house.old });
    const newId = record.newId ?? "";
    expect(house.ids()).toEqual([newId]);
    expect(house.inFile()).toEqual({ id: newId, isGood: true });
    expect(await house.events()).toEqual([
      `authkey.created ${newId}`,
      `authkey.verified ${newId}`,
      `authkey.handed-over ${newId}`,
      "authkey.revoked rotated",
      `authkey.rotated ${newId}`,
    ]);
    expect(record.sealed).toBeUndefined();
  });

  it("with both slots taken only where a person names the one that goes first", async () => {
    const house = open(who);
    const { authKeyId: spare } = sandbox.accounts.authKeys.create(house.userName);
    await house.begin();
    const refused = await house.live();
    expect(refused).toMatchObject({ phase: "failed" });
    expect(refused.reason).toContain(`To revoke one first, add --replace ${spare}.`);
    expect(refused.reason).toContain(`${house.old} (created `);
    expect(house.ids()).toEqual([house.old, spare]);
    await house.begin(spare);
    const record = await house.live();
    expect(record.phase).toBe("done");
    expect(house.ids()).toEqual([record.newId]);
    expect((await house.events()).slice(1, 3)).toEqual(["authkey.revoked replaced", `authkey.created ${record.newId}`]);
  });

  it("and comes to an end after a lost answer of its creation and of its revocation", async () => {
    const house = open(who);
    const lost: string[] = [];
    house.change = (parts) => ({
      ...parts,
      account: {
        list: (signal) => parts.account.list(signal),
        prove: (key) => parts.account.prove(key),
        create: (signal) => {
          if (!lost.includes("create")) sandbox.faults.next("lost-answer");
          lost.push("create");
          return parts.account.create(signal);
        },
        revoke: (id, signal) => {
          if (id === house.old && !lost.includes("revoke")) sandbox.faults.next("lost-answer");
          if (id === house.old) lost.push("revoke");
          return parts.account.revoke(id, signal);
        },
      },
    });
    await house.begin();
    const record = await house.live();
    expect(record.phase).toBe("done");
    expect(house.ids()).toEqual([record.newId]);
    expect(lost).toEqual(["create", "create", "revoke", "revoke"]);
    expect(await house.events()).toContain("authkey.revoked lost");
  });
});

describe("what another process uses is never revoked:", () => {
  it("the old AuthKey waits for it", async () => {
    const house = open();
    await house.users.say(house.profile, "w-2", house.old);
    await house.begin();
    const waiting = await house.live(undefined, 60);
    expect(waiting).toMatchObject({ phase: "taken-up" });
    expect(waiting.waitsFor).toBe(`${house.old} is still used by w-2.`);
    expect(house.ids()).toContain(house.old);
    await house.users.say(house.profile, "w-2", waiting.newId);
    expect((await house.live()).phase).toBe("done");
  });

  it("nor one that turns up at the last moment", async () => {
    const house = open();
    let isThere = false;
    house.change = (parts) => ({
      ...parts,
      rotations: {
        record: (profile) => parts.rotations.record(profile),
        nowMs: () => parts.rotations.nowMs(),
        move: async (record, change, terms) => {
          const reply = await parts.rotations.move(record, change, terms);
          if (change.phase === "revoking" && !isThere) {
            isThere = true;
            await house.users.say(house.profile, "w-3", house.old);
          }
          return reply;
        },
      },
    });
    await house.begin();
    const waiting = await house.live(undefined, 60);
    expect(waiting.phase).toBe("taken-up");
    expect(house.ids()).toContain(house.old);
    await house.users.say(house.profile, "w-3", undefined);
    expect((await house.live()).phase).toBe("done");
  });

  it("the one that a person names to make room", async () => {
    const house = open();
    const { authKeyId: spare } = sandbox.accounts.authKeys.create(undefined);
    await house.users.say(house.profile, "w-2", spare);
    await house.begin(spare);
    expect((await house.live()).reason).toContain(`${spare} is in use by w-2`);
    await house.begin(house.old);
    expect((await house.live()).reason).toContain(`${house.old} is in use here`);
    expect(house.ids()).toEqual([house.old, spare]);
  });

  it("the old AuthKey when somebody beside simfleet authenticates with it", async () => {
    const house = open();
    house.change = (parts) => ({ ...parts, quietMs: 1_500 });
    await house.begin();
    const first = await house.live(undefined, 20);
    expect(first.phase).toBe("taken-up");
    // The platform tells of a last use in seconds.
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    sandbox.accounts.authKeys.noteUse(house.old);
    const second = await house.live(undefined, 20);
    expect(second.waitsFor).toMatch(/is revoked once nobody has used it until|is still used by somebody/);
    expect(second.quietSinceMs).toBeGreaterThan(first.quietSinceMs ?? 0);
    expect((await house.live()).phase).toBe("done");
  });
});

it("a platform that throws the new secret back leaves none of it in Redis", async () => {
  const house = open();
  const secrets: string[] = [];
  house.change = (parts) => ({
    ...parts,
    account: {
      ...{ list: (signal) => parts.account.list(signal), create: (signal) => parts.account.create(signal) },
      revoke: (id, signal) => parts.account.revoke(id, signal),
      prove: ({ authKey }) => {
        secrets.push(authKey.reveal());
        const code = secrets.length < 3 ? "PLATFORM_UNAVAILABLE" : "PLATFORM_UNAUTHORIZED";
        return Promise.reject(new PlatformError(code, `auth: no such key: ${authKey.reveal()}`, { operation: "auth" }));
      },
    },
  });
  const seen: string[] = [];
  const look = async (): Promise<void> => void seen.push(JSON.stringify(await house.record()));
  await house.begin();
  await house.live(undefined, 1);
  await look();
  await house.live(undefined, 2);
  await look();
  await house.live();
  await look();
  const [secret = "none"] = secrets;
  expect(seen.join()).toContain("auth: no such key: [secret]");
  const events = JSON.stringify(await redis.xrange(keys.events(), "-", "+"));
  expect(seen.join() + events).not.toContain(secret);
  expect(liveSecrets()).not.toContain(secret);
});

describe("what cannot go on is taken back:", () => {
  it("a new AuthKey that the platform does not accept", async () => {
    const house = open();
    house.change = (parts) => ({
      ...parts,
      account: {
        ...{ list: (signal) => parts.account.list(signal), create: (signal) => parts.account.create(signal) },
        revoke: (id, signal) => parts.account.revoke(id, signal),
        prove: () => {
          const facts = { operation: "auth", status: 401 };
          return Promise.reject(new PlatformError("PLATFORM_UNAUTHORIZED", "auth: not authorized", facts));
        },
      },
    });
    await house.begin();
    const record = await house.live();
    expect(record).toMatchObject({ phase: "failed", reason: expect.stringContaining("is not accepted") });
    expect(house.ids()).toEqual([house.old]);
    expect(house.inFile()).toEqual({ id: house.old, isGood: true });
    expect((await house.events()).slice(-2)).toEqual(["authkey.revoked taken-back", `authkey.failed ${record.reason}`]);
  });

  it("a file that cannot be written, before anybody has the new AuthKey", async () => {
    const house = open();
    const locked = join(house.folder, "locked");
    mkdirSync(locked);
    house.sinks = [{ kind: "file", path: join(locked, "no", "auth-key") }];
    chmodSync(locked, 0o700);
    await house.begin();
    const record = await house.live();
    expect(record).toMatchObject({ phase: "failed", reason: expect.stringContaining("did not take the new secret") });
    expect(house.ids()).toEqual([house.old]);
  });

  it("but not a program that fails, since it may have passed the AuthKey on: both stay good", async () => {
    const house = open();
    house.sinks = [...house.sinks, { kind: "command", command: ["/bin/false"] }];
    await house.begin();
    const waiting = await house.live(undefined, 20);
    expect(waiting).toMatchObject({ phase: "proved", waitsFor: expect.stringContaining("/bin/false") });
    expect(waiting.problem).toMatchObject({ message: waiting.waitsFor, attempts: waiting.tries });
    expect(waiting.problem?.nextAttemptMs).toBeGreaterThan(waiting.problem?.sinceMs ?? 0);
    expect(house.ids()).toHaveLength(2);
    house.sinks = [...house.sinks.slice(0, 1), { kind: "command", command: ["/bin/cat"] }];
    expect((await house.live()).phase).toBe("done");
  });

  it("an AuthKey that somebody else makes meanwhile is left alone", async () => {
    const house = open();
    let other: string | undefined;
    await house.begin();
    const dies = (call: string, when: string): void => {
      if (call === "account.create" && when === "before" && other === undefined) {
        other = sandbox.accounts.authKeys.create(undefined).authKeyId;
        sandbox.accounts.authKeys.noteUse(other);
        throw new Crash();
      }
    };
    await expect(house.live(dies)).rejects.toBeInstanceOf(Crash);
    const record = await house.live();
    expect(record).toMatchObject({ phase: "failed", reason: expect.stringContaining(`made the AuthKey ${other}`) });
    expect(house.ids()).toEqual([house.old, other]);
  });
});
