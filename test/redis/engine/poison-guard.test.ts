/** The count of deaths. */
import { expect, it } from "vitest";
import { type PoisonGuard, quarantined } from "#engine/poison-guard.ts";
import { openTestRedis } from "../../support/redis.ts";
import { openGuards } from "./deaths.ts";

const place = openTestRedis();

function setup() {
  const { redis, keys, messages, open, die } = openGuards(place);
  const begin = async (guard: PoisonGuard): Promise<void> => {
    const begun = Promise.withResolvers<void>();
    void guard.run("work", () => {
      begun.resolve();
      return new Promise(() => undefined);
    });
    await begun.promise;
  };
  const dieWith = (name = "work"): Promise<void> => die((guard, here) => guard.run(name, here));
  const marks = (): Promise<number> => redis.hlen(keys.workMarks("work"));
  return { open, begin, die: dieWith, marks, messages };
}

const done = (): Promise<string> => Promise.resolve("done");

it("work is begun again after two deaths, and quarantined after three", async () => {
  const { open, die, messages } = setup();
  await die();
  await die();
  expect(await open().run("work", done)).toBe("done");
  await die();
  expect(await open().run("work", done)).toBe(quarantined);
  expect(messages).toEqual(["work: stopped: its worker crashed three times while processing this"]);
});

it("deaths with other work do not count", async () => {
  const { open, die } = setup();
  await die();
  await die();
  await die("other work");
  expect(await open().run("work", done)).toBe("done");
});

it("the mark of work that ends is removed, also when it ends with an error", async () => {
  const { open, marks } = setup();
  const guard = open();
  await guard.run("work", done);
  await expect(guard.run("work", () => Promise.reject(new Error("m")))).rejects.toThrow("m");
  expect(await marks()).toBe(0);
});

it("a process that lives is no death, however long its work takes", async () => {
  const { open, begin } = setup();
  const guards = [open(), open(), open()];
  for (const guard of guards) await begin(guard);
  expect(await open().run("work", done)).toBe("done");
  await Promise.all(guards.map((guard) => guard.close()));
});

it("a process that stops in the middle of its work is no death", async () => {
  const { open, begin, marks } = setup();
  for (let stop = 0; stop < 3; stop += 1) {
    const guard = open();
    await begin(guard);
    await guard.close();
  }
  expect(await marks()).toBe(0);
  expect(await open().run("work", done)).toBe("done");
});

it("work that a person releases is quarantined again after three more deaths", async () => {
  const { open, die } = setup();
  for (let death = 0; death < 3; death += 1) await die();
  expect(await open().run("work", done)).toBe(quarantined);
  expect(await open().run("work", done)).toBe("done");
  for (let death = 0; death < 3; death += 1) await die();
  expect(await open().run("work", done)).toBe(quarantined);
});
