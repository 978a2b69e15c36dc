/**
 * Processes that die in the middle of their work, without a process: what they do never ends, and their entry in the
 * registry is gone. Nothing that they would have done afterwards is done.
 */
import { poisonGuard, type PoisonGuard } from "#engine/poison-guard.ts";
import { openWorkerRegistry } from "#engine/queue/worker-registry.ts";
import { keysWithin, type TestRedis } from "../../support/redis.ts";

type DeadlyWork = (guard: PoisonGuard, die: () => Promise<never>) => unknown;

/** Guards of processes on data of their own. */
export function openGuards(place: Pick<TestRedis, "redis" | "keys">) {
  const keys = keysWithin(place.keys);
  const { redis } = place;
  const messages: string[] = [];
  const open = (): PoisonGuard => {
    const workerRegistry = openWorkerRegistry({ redis, keys });
    return poisonGuard({ redis, keys, workerRegistry, onQuarantined: (message) => messages.push(message) });
  };
  /** A process dies where `work` calls `die`. */
  const die = async (work: DeadlyWork): Promise<void> => {
    const alive = { announce: () => Promise.resolve(() => Promise.resolve()) };
    const guard = poisonGuard({ redis, keys, workerRegistry: alive, onQuarantined: () => undefined });
    const dead = Promise.withResolvers<void>();
    const here = (): Promise<never> => {
      dead.resolve();
      return new Promise(() => undefined);
    };
    const ended = Promise.resolve(work(guard, here)).then(() => Promise.reject(new Error("it ended before its death")));
    await Promise.race([dead.promise, ended]);
  };
  const dieThrice = async (work: DeadlyWork): Promise<void> => {
    for (let death = 0; death < 3; death += 1) await die(work);
  };
  return { redis, keys, messages, open, die, dieThrice };
}
