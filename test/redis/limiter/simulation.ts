/**
 * A platform, processes with real gates on the real script, callers that always want one more call, and everything that
 * goes wrong between them, in simulated time. `simulate` returns what happened; the tests say what must be true of it.
 */
import type { Redis } from "ioredis";
import { PlatformError } from "#core/errors.ts";
import type { Clock } from "#core/time.ts";
import { type Exchange, type ExchangeRequest, PermitQueue } from "#limiter/permit-queue.ts";
import type { Permit, QuotaReading, Urgency } from "#limiter/permit.ts";
import type { Keys } from "#redis/keys.ts";
import { testKeys } from "../../support/redis.ts";
import { ModelPlatform, type Rounding, type Window } from "./model-platform.ts";
import { type Reserve, keysOfBucket } from "#limiter/limiter.ts";
import { type BucketReply, SimulatedBucket } from "./simulated-bucket.ts";
import { World, beginMs } from "./world.ts";

/** Times in milliseconds; shares from 0 to 1; `at` in windows since the start. */
export interface Scenario {
  readonly seed: number;
  readonly periodMs: number;
  readonly lengthInWindows: number;
  readonly limit: number;
  /** How much of the first window is over at the start. */
  readonly phase: number;
  readonly rounding: Rounding;
  readonly windows: "periodic" | "anchored";
  readonly driftPpm: number;
  readonly processes: number;
  readonly callersEach: number;
  readonly requestMs: readonly [number, number];
  readonly answerMs: readonly [number, number];
  readonly slowShare: number;
  readonly slowMs: number;
  readonly redisMs: number;
  readonly lostShare: number;
  readonly timeoutMs: number;
  readonly giveBackShare: number;
  readonly reserve: Reserve;
  readonly priorityShare: number;
  /** `perSecond` bursts of `burst` calls each, of one call by default. */
  readonly others: {
    readonly how: "none" | "steady" | "random";
    readonly perSecond: number;
    readonly burst?: number | undefined;
  };
  readonly limitChanges: readonly { readonly at: number; readonly limit: number }[];
  readonly crashes: readonly { readonly at: number; readonly process: number; readonly restartMs: number }[];
  /** All processes at once, for good; one fresh process comes then. */
  readonly massCrashAt: number | undefined;
  readonly platformRestartAt: number | undefined;
  readonly backlog: "unknown" | "endless" | number;
}

/** What a calm single process with nothing going wrong looks like; tests change what they are about. */
export const calm: Scenario = {
  seed: 1,
  periodMs: 10_000,
  lengthInWindows: 4,
  limit: 50,
  phase: 0.5,
  rounding: "up",
  windows: "periodic",
  driftPpm: 0,
  processes: 1,
  callersEach: 8,
  requestMs: [2, 20],
  answerMs: [2, 20],
  slowShare: 0,
  slowMs: 0,
  redisMs: 1,
  lostShare: 0,
  timeoutMs: 2_000,
  giveBackShare: 0,
  reserve: 0,
  priorityShare: 0,
  others: { how: "none", perSecond: 0 },
  limitChanges: [],
  crashes: [],
  massCrashAt: undefined,
  platformRestartAt: undefined,
  backlog: "endless",
};

/** Longer than the longest call, as it has to be. */
export const leaseMs = 8_000;

export interface Seen {
  readonly windows: readonly Window[];
  /** Sentences about a refresh that the script's interval did not hold. */
  readonly wrongRefreshes: readonly string[];
  /** Sentences about permits granted after a 429 of the same window was heard. */
  readonly grantsAfterRefusal: readonly string[];
  readonly calls: number;
  readonly exchanges: number;
  readonly freshProcessFromMs: number | undefined;
  readonly story: readonly string[];
}

export async function simulate(redis: Redis, scenario: Scenario, isReported = false): Promise<Seen> {
  const keys = testKeys();
  const simulation = new Simulation(redis, keys, scenario, isReported);
  try {
    return await simulation.run();
  } finally {
    await redis.unlink(...keysOfBucket(keys, "b"), `${keys.prefix}:clock`);
  }
}

class Simulation {
  readonly world: World;
  readonly scenario: Scenario;
  readonly bucket: SimulatedBucket;
  readonly platform: ModelPlatform;
  toStart: number;
  inFlight = 0;
  calls = 0;
  exchanges = 0;
  #processes: ModelProcess[] = [];
  #born = 0;
  #freshFromMs: number | undefined;
  /** Nothing is lost anymore after the mass crash, so that the windows can be counted. */
  lostShare: number;
  readonly windowOf = new WeakMap<QuotaReading, Window>();
  readonly #refusalHeard = new Set<Window>();
  readonly #wrongRefreshes: string[] = [];
  readonly #grantsAfterRefusal: string[] = [];

  constructor(redis: Redis, keys: Keys, scenario: Scenario, isReported: boolean) {
    this.scenario = scenario;
    this.lostShare = scenario.lostShare;
    this.world = new World(scenario.seed, isReported);
    const { periodMs, reserve } = scenario;
    this.bucket = new SimulatedBucket(redis, keys, { periodMs, reserve, leaseMs });
    this.platform = new ModelPlatform({ ...scenario, windowBeginsMs: beginMs - scenario.phase * periodMs });
    this.toStart = typeof scenario.backlog === "number" ? scenario.backlog : 1_000_000;
  }

  async run(): Promise<Seen> {
    const { scenario, world } = this;
    const inWindows = (at: number): number => at * scenario.periodMs;
    for (let i = 0; i < scenario.processes; i += 1) this.#startProcess();
    for (const change of scenario.limitChanges) {
      world.after(inWindows(change.at), () => {
        world.emit(() => `the limit is ${change.limit} now`);
        this.platform.setLimit(world.nowMs, change.limit);
      });
    }
    for (const crash of scenario.crashes) {
      world.after(inWindows(crash.at), () => {
        this.#processes[crash.process % scenario.processes]?.crash();
        world.after(crash.restartMs, () => this.#startProcess());
      });
    }
    if (scenario.massCrashAt !== undefined) world.after(inWindows(scenario.massCrashAt), () => this.#crashAll());
    if (scenario.platformRestartAt !== undefined) {
      world.after(inWindows(scenario.platformRestartAt), () => {
        world.emit(() => "the platform restarts");
        this.platform.restart(world.nowMs);
      });
    }
    this.#startOthers();
    await world.runUntil(beginMs + inWindows(scenario.lengthInWindows));
    for (const process of this.#processes) process.crash();
    return {
      windows: this.platform.windows,
      wrongRefreshes: this.#wrongRefreshes,
      grantsAfterRefusal: this.#grantsAfterRefusal,
      calls: this.calls,
      exchanges: this.exchanges,
      freshProcessFromMs: this.#freshFromMs,
      story: world.story ?? [],
    };
  }

  #startProcess(): void {
    this.#processes.push(new ModelProcess(this, `p${(this.#born += 1)}`));
  }

  #crashAll(): void {
    for (const process of this.#processes) process.crash();
    this.#processes = [];
    this.#freshFromMs = this.world.nowMs;
    this.lostShare = 0;
    this.#startProcess();
  }

  #startOthers(): void {
    const { how, perSecond, burst = 1 } = this.scenario.others;
    if (how === "none" || perSecond <= 0) return;
    const next = (): void => {
      const everyMs = 1_000 / perSecond;
      const waitMs =
        how === "steady" ? everyMs * this.world.between(0.95, 1.05) : -Math.log(1 - this.world.random()) * everyMs;
      this.world.after(waitMs, () => {
        for (let call = 0; call < burst; call += 1) {
          const { isThrottled, reading } = this.platform.receive(this.world.nowMs, "other");
          this.world.emit(() => `another caller ${isThrottled ? "is refused" : `leaves ${reading.remaining}`}`);
        }
        next();
      });
    };
    next();
  }

  /** Called with every reply of the script, at the instant at which it ran. */
  heard(process: ModelProcess, request: ExchangeRequest, reply: BucketReply): void {
    this.exchanges += 1;
    for (const { kind, reading } of request.observations) {
      const window = reading && this.windowOf.get(reading);
      if (kind === "throttled" && window) this.#refusalHeard.add(window);
    }
    this.world.emit(() => storyOf(process.id, request, reply));
    const { nowMs } = this.world;
    const present = this.platform.windows.at(-1);
    if (reply.granted > 0 && present && nowMs < present.endMs && this.#refusalHeard.has(present)) {
      this.#grantsAfterRefusal.push(
        `${reply.granted} permits at ${clockTime(nowMs)}, after a 429 of that window was heard`,
      );
    }
    if (reply.refresh) this.#checkRefresh(nowMs, reply.refresh);
  }

  #checkRefresh(nowMs: number, refresh: { earliestMs: number; latestMs: number }): void {
    if (this.scenario.windows !== "periodic" || this.scenario.platformRestartAt !== undefined) return;
    const { endMs } = this.platform.windowAt(nowMs);
    const [low, high] = [refresh.earliestMs - 0.01, refresh.latestMs + 0.01];
    const holds = [endMs - this.platform.periodMs, endMs].some((instant) => instant >= low && instant <= high);
    if (!holds)
      this.#wrongRefreshes.push(
        `at ${clockTime(nowMs)}: the refresh at ${clockTime(endMs)} is not in ${clockTime(low)}…${clockTime(high)}`,
      );
  }
}

class ModelProcess {
  readonly id: string;
  readonly #simulation: Simulation;
  readonly #clock: Clock;
  readonly #gate: PermitQueue;
  #isAlive = true;
  #inFlight = 0;

  constructor(simulation: Simulation, id: string) {
    this.id = id;
    this.#simulation = simulation;
    this.#clock = simulation.world.clock(simulation.world.between(0, 1_000_000));
    this.#gate = new PermitQueue({
      bucket: "b",
      clock: this.#clock,
      exchange: (request) => this.#exchange(request),
    });
    for (let i = 0; i < simulation.scenario.callersEach; i += 1) void this.#call();
  }

  crash(): void {
    if (!this.#isAlive) return;
    this.#isAlive = false;
    this.#simulation.toStart += this.#inFlight;
    this.#simulation.inFlight -= this.#inFlight;
    this.#simulation.world.emit(() => `${this.id} crashes`);
  }

  #exchange(request: ExchangeRequest): Promise<Exchange> {
    const { world, bucket, scenario } = this.#simulation;
    const args = bucket.arguments(this.id, request, this.#clock.monotonicMs());
    return new Promise((resolve, reject) => {
      if (!this.#isAlive) return;
      world.after(world.between(0.02, scenario.redisMs), async () => {
        const reply = await bucket.run(world.nowMs, args).catch(reject);
        if (!reply) return;
        this.#simulation.heard(this, request, reply);
        world.after(world.between(0.02, scenario.redisMs), () => void (this.#isAlive && resolve(reply)));
      });
    });
  }

  async #call(): Promise<void> {
    const simulation = this.#simulation;
    const { world, scenario } = simulation;
    const backlog = (): number => (scenario.backlog === "unknown" ? -1 : simulation.toStart + simulation.inFlight);
    while (this.#isAlive && simulation.toStart > 0) {
      const urgency: Urgency = world.random() < scenario.priorityShare ? "priority" : "normal";
      let permit: Permit;
      try {
        permit = await this.#gate.acquire({ urgency, backlog });
      } catch (thrown) {
        if (!(thrown instanceof PlatformError)) throw thrown;
        await this.#clock.sleep(Math.max(1, (thrown.retryAfterMs ?? 1) - 1_000));
        continue;
      }
      if (simulation.toStart <= 0) return permit.giveBack();
      if (world.random() < scenario.giveBackShare) {
        await this.#clock.sleep(world.between(0, 50));
        permit.giveBack();
        continue;
      }
      await this.#send(permit, urgency);
    }
  }

  async #send(permit: Permit, urgency: Urgency): Promise<void> {
    const simulation = this.#simulation;
    const { world, scenario } = simulation;
    this.#count(1);
    permit.sending();
    const fate = world.random() < simulation.lostShare ? (world.random() < 0.5 ? "request" : "answer") : "none";
    const slowMs = world.random() < scenario.slowShare ? world.between(0, scenario.slowMs) : 0;
    const requestMs = world.between(...scenario.requestMs) + slowMs * world.random();
    const answerMs = world.between(...scenario.answerMs) + slowMs * world.random();
    const answer = await new Promise<{ isThrottled: boolean; reading: QuotaReading } | undefined>((resolve) => {
      const inMyLife = (then: () => void) => () => void (this.#isAlive && then());
      if (fate === "request")
        return void world.after(
          world.random() < 0.5 ? scenario.timeoutMs : requestMs,
          inMyLife(() => resolve(undefined)),
        );
      world.after(requestMs, () => {
        const { window, ...said } = simulation.platform.receive(world.nowMs, urgency);
        simulation.calls += 1;
        simulation.windowOf.set(said.reading, window);
        world.emit(
          () =>
            `the platform ${said.isThrottled ? "REFUSES" : "counts"} a call of ${this.id}: ${JSON.stringify(said.reading)}`,
        );
        const isLost = fate === "answer";
        if (isLost) window.unheard += 1;
        world.after(
          isLost && world.random() < 0.5 ? scenario.timeoutMs : answerMs,
          inMyLife(() => resolve(isLost ? undefined : said)),
        );
      });
    });
    this.#count(-1);
    if (answer === undefined || answer.isThrottled) simulation.toStart += 1;
    if (answer === undefined) permit.lost();
    else permit.answered({ reading: answer.reading, throttled: answer.isThrottled });
  }

  #count(change: 1 | -1): void {
    this.#inFlight += change;
    this.#simulation.inFlight += change;
    if (change === 1) this.#simulation.toStart -= 1;
  }
}

function clockTime(ms: number): string {
  return `${((ms - beginMs) / 1_000).toFixed(4)} s`;
}

function storyOf(id: string, request: ExchangeRequest, reply: BucketReply): string {
  const reported = request.observations.map(
    (o) =>
      `${o.kind}#${o.permitNumber}(w${o.window}${o.reading ? ` ${o.reading.remaining}/${o.reading.limit} ${o.reading.secondsBeforeRefresh}s` : ""})`,
  );
  const refresh = reply.refresh
    ? `${clockTime(reply.refresh.earliestMs)}…${clockTime(reply.refresh.latestMs)}`
    : "unknown";
  const outcome = `granted ${reply.granted}/${request.want}, wait ${reply.waitMs.toFixed(0)}, left ${reply.left ?? "?"}`;
  return `${id} [${reported.join(" ")}] -> w${reply.window} ${outcome}, in flight ${reply.inFlight}, refresh ${refresh}`;
}
