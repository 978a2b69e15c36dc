/**
 * Kills durable work at every call that outlives a process: after each write to Redis, and each call of the platform, a
 * sink or a receiver. A process that dies is one whose objects throw from some call on and are never used again; the
 * next process starts with new objects. Nothing outlives a process between two calls, so a death before a call is a
 * death after the previous one: only the first call of a process, and one that overlaps another, is also killed before
 * it.
 */
import { expect } from "vitest";
import { seededRandom } from "#sandbox/seeded.ts";

/** Returns a thing whose calls a crash can interrupt. Reads of Redis are left out: they change nothing. */
export type Around = <T extends object>(name: string, thing: T) => T;

/** One piece of work, set up and started. */
export interface CrashSubject {
  /** One process: works until the work waits or ends. Everything that outlives a process is used through `around`. */
  work(around: Around): Promise<void>;
  /** The state in the record. */
  state(): Promise<string>;
  isOver(): Promise<boolean>;
  /** Checks what holds at any time, also after a crash. */
  check?(): Promise<void> | void;
  /** Checks what holds at the end. @returns the name of the end */
  checkEnd(): Promise<string>;
}

/** What is killed, and what must come of it. */
export interface CrashCase {
  readonly name: string;
  begin(): Promise<CrashSubject> | CrashSubject;
  /** The end of work that is not interrupted. */
  readonly end: string;
  /** Ends that crashes may lead to instead. */
  readonly otherEnds?: readonly string[];
  /** The states in which a process must have died. */
  readonly states: readonly string[];
}

export class Crash extends Error {}

const readsOfRedis: ReadonlySet<string> = new Set(
  "get getBuffer getrangeBuffer exists hget hmget hgetall mget smembers time zcard zrangebyscore zrevrangebylex xrange xrevrange xlen".split(
    " ",
  ),
);

/** The objects of one process; `diesAt` is asked at each boundary. */
class Process {
  isDead = false;
  #inFlight = 0;
  #calls = 0;
  readonly #diesAt: (boundary: string) => boolean;

  constructor(diesAt: (boundary: string) => boolean) {
    this.#diesAt = diesAt;
  }

  #pass(boundary: string): void {
    if (this.isDead || this.#diesAt(boundary)) {
      this.isDead = true;
      throw new Crash(boundary);
    }
  }

  readonly around: Around = <T extends object>(name: string, thing: T): T =>
    new Proxy(thing, {
      get: (target, property) => {
        const value: unknown = Reflect.get(target, property, target);
        if (typeof value !== "function") return value;
        if (name === "redis" && readsOfRedis.has(String(property))) return value.bind(target) as unknown;
        const call = `${name}.${String(property)}`;
        return (...args: unknown[]): unknown => {
          this.#begin(call);
          const result: unknown = Reflect.apply(value, target, args);
          if (isGenerator(result)) return this.#pages(result, call);
          return Promise.resolve(result)
            .finally(() => (this.#inFlight -= 1))
            .then((settled) => {
              this.#pass(`after ${call}`);
              return settled;
            });
        };
      },
    });

  #begin(call: string): void {
    if (this.isDead) throw new Crash(call);
    if (this.#calls === 0 || this.#inFlight > 0) this.#pass(`before ${call}`);
    this.#calls += 1;
    this.#inFlight += 1;
  }

  async *#pages(pages: AsyncGenerator, call: string): AsyncGenerator {
    for await (const page of pages) {
      this.#pass(`page of ${call}`);
      yield page;
    }
    this.#inFlight -= 1;
    this.#pass(`after ${call}`);
  }
}

function isGenerator(value: unknown): value is AsyncGenerator {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

/** Works in one process after another until the work is over. @param diesAt takes the boundaries passed so far */
async function workThroughCrashes(subject: CrashSubject, diesAt: (passed: readonly string[]) => boolean) {
  const passed: string[] = [];
  const deaths: string[] = [];
  for (let life = 0; life < 600; life += 1) {
    const process = new Process((boundary) => {
      passed.push(boundary);
      return diesAt(passed);
    });
    try {
      await subject.work(process.around);
    } catch (thrown) {
      // A dead process may throw another error because of the crash.
      if (!process.isDead) throw thrown;
    }
    if (process.isDead) deaths.push(await subject.state());
    await subject.check?.();
    if (await subject.isOver()) return { passed, deaths };
  }
  throw new Error(`not over after 600 processes: ${await subject.state()}`);
}

/**
 * Kills the work once at each boundary, one after the other, until a process passes them all.
 * @param stride from the twelfth boundary on, only every `stride`th
 */
export async function surviveEachCrash(one: CrashCase, stride: number): Promise<void> {
  const states: string[] = [];
  const boundaries = new Set<string>();
  for (let at = 1; ; at += at < 12 ? 1 : stride) {
    const subject = await one.begin();
    const { passed, deaths } = await workThroughCrashes(subject, ({ length }) => length === at);
    const end = await subject.checkEnd();
    if (deaths.length === 0) {
      expect(end).toBe(one.end);
      break;
    }
    expect([one.end, ...(one.otherEnds ?? [])], `after a crash ${passed[at - 1]}`).toContain(end);
    boundaries.add(passed[at - 1] ?? "");
    states.push(...deaths);
  }
  expect(boundaries).toContain("after redis.evalsha");
  // A stride may pass over a state that lasts for a single write.
  if (stride === 1) expect(new Set(states)).toEqual(new Set(one.states));
  else expect(one.states).toEqual(expect.arrayContaining(states));
}

/** Kills the work again and again, at boundaries that a seed selects. @returns how often the work came to each end */
export async function surviveManyCrashes(
  rounds: number,
  chance: number,
  begin: (seed: number, random: () => number) => Promise<CrashSubject>,
): Promise<Record<string, number>> {
  const ends: Record<string, number> = {};
  for (let seed = 1; seed <= rounds; seed += 1) {
    const random = seededRandom(seed);
    const subject = await begin(seed, random);
    await workThroughCrashes(subject, ({ length }) => length < 2_000 && random() < chance);
    const end = await subject.checkEnd();
    ends[end] = (ends[end] ?? 0) + 1;
  }
  return ends;
}

/** The same connection; `then` is called after each of its writes. */
export function afterEachWrite<T extends object>(redis: T, then: () => Promise<void>): T {
  return new Proxy(redis, {
    get: (target, property) => {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== "function") return value;
      if (readsOfRedis.has(String(property))) return value.bind(target) as unknown;
      return async (...args: unknown[]): Promise<unknown> => {
        const result: unknown = await Reflect.apply(value, target, args);
        await then();
        return result;
      };
    },
  });
}
