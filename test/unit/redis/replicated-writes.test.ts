/** Writes that are not safe until Redis says so; test/e2e/redis-failover.test.ts has real replicas. */
import type { Redis } from "ioredis";
import { expect, test } from "vitest";
import { replicatedWrites, NotReplicatedError } from "#redis/replicated-writes.ts";
import { Script } from "#redis/script.ts";

const script = Script.load(new URL("../../../src/limiter/pace.lua", import.meta.url));

/** A connection whose pipeline answers the script with 1, and each wait with the given reply. */
function setup(replies: readonly unknown[]): { redis: Redis; commands: string[] } {
  const commands: string[] = [];
  const waits = [...replies];
  const pipeline = () => {
    const results: [null, unknown][] = [];
    const add = (command: string, reply: unknown): void => {
      commands.push(command);
      results.push([null, reply]);
    };
    return {
      eval: () => add("EVAL", 1),
      wait: (...args: number[]) => add(`WAIT ${args.join(" ")}`, waits.shift()),
      call: (...args: (string | number)[]) => add(args.join(" "), waits.shift()),
      exec: () => Promise.resolve(results),
    };
  };
  return { redis: { pipeline } as unknown as Redis, commands };
}

test.each([
  ["a file that has it", false, [[1, 0]], 1],
  ["a file that has it too late", false, [[0, 0]], undefined],
  ["a replica and a file", true, [1, [1, 0]], 1],
  ["a file alone of two", true, [0, [1, 0]], undefined],
])("a write ends with %s", async (_, hasReplicas, replies, reply) => {
  const { redis, commands } = setup(replies);
  const written = replicatedWrites(() => redis, { hasReplicas, acknowledgesFile: true }).run(script, ["k"], []);
  if (reply === undefined) await expect(written).rejects.toThrow(NotReplicatedError);
  else expect(await written).toBe(reply);
  expect(commands).toEqual(["EVAL", ...(hasReplicas ? ["WAIT 1 1000"] : []), "WAITAOF 1 0 3000"]);
});
