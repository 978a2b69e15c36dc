/** The count of deaths. A process that dies is one whose work never ends and whose entry in the registry expires. */
import { expect, it } from "vitest";
import { PoisonGuard, setAside } from "#engine/poison-guard.ts";
import { WorkerRegistry } from "#engine/queue/worker-registry.ts";
import { Keys } from "#redis/keys.ts";
import { openTestRedis } from "../../support/redis.ts";

const place = openTestRedis();
let tests = 0;

function setup() {
  const keys = new Keys(`${place.keys.prefix}:${(tests += 1)}`);
  const { redis } = place;
  const messages: string[] = [];
  const open = (): PoisonGuard => {
    const workerRegistry = new WorkerRegistry({ redis, keys });
    const guard = new PoisonGuard({ redis, keys, workerRegistry, onSetAside: (message) => messages.push(message) });
    return guard;
  };
  const begin = async (guard: PoisonGuard, name = "work"): Promise<void> => {
    const begun = Promise.withResolvers<void>();
    void guard.run(name, () => {
      begun.resolve();
      return new Promise(() => undefined);
    });
    await begun.promise;
  };
  /** A process dies with the work; its connection writes nothing any more. */
  const die = async (name = "work"): Promise<void> => {
    const alive = { announce: () => Promise.resolve(() => Promise.resolve()) };
    await begin(new PoisonGuard({ redis, keys, workerRegistry: alive, onSetAside: () => undefined }), name);
  };
  const marks = (name = "work"): Promise<number> => redis.hlen(keys.workMarks(name));
  return { keys, open, begin, die, marks, messages };
}

const done = (): Promise<string> => Promise.resolve("done");

it("work is begun again after two deaths, and set aside after three", async () => {
  const { open, die, messages } = setup();
  await die();
  await die();
  expect(await open().run("work", done)).toBe("done");
  await die();
  expect(await open().run("work", done)).toBe(setAside);
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

it("work that a person releases is set aside again after three more deaths", async () => {
  const { open, die } = setup();
  for (let death = 0; death < 3; death += 1) await die();
  expect(await open().run("work", done)).toBe(setAside);
  expect(await open().run("work", done)).toBe("done");
  for (let death = 0; death < 3; death += 1) await die();
  expect(await open().run("work", done)).toBe(setAside);
});
