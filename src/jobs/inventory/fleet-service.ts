/** Fleet counts, current and over time. Counting scans the inventory, which takes a while if it is large. */
import { keepAnswers } from "#core/kept.ts";
import { type Clock, minuteMs } from "#core/time.ts";
import type { FleetPoint, FleetReport } from "./contract.ts";
import type { SimService } from "./service.ts";
import type { Redis } from "ioredis";
import type { Keys } from "#redis/keys.ts";

const minKeptMs = 3_000;

export class FleetService {
  readonly #sims: SimService;
  readonly #history: FleetHistory;
  readonly #clock: Clock;
  readonly #reports: ReturnType<typeof keepAnswers<FleetReport>>;

  constructor(deps: { sims: SimService; history: FleetHistory; clock: Clock }) {
    this.#sims = deps.sims;
    this.#history = deps.history;
    this.#clock = deps.clock;
    this.#reports = keepAnswers(deps.clock, minKeptMs);
  }

  report(profile: string): Promise<FleetReport> {
    return this.#reports(profile, () => this.#sims.fleet(profile));
  }

  /** Stores a point of the fleet's history, unless one was stored in the last five minutes. */
  async remember(profile: string): Promise<void> {
    const atMs = this.#clock.wallMs();
    const { known } = await this.#sims.facts(profile);
    if (known === 0 || !(await this.#history.isDue(profile, atMs))) return;
    const { total, bySpeedClass } = await this.report(profile);
    await this.#history.add(profile, { atMs, total, bySpeedClass });
  }

  /** Oldest first. */
  async history(profile: string, hours: number): Promise<FleetPoint[]> {
    const points = await this.#history.since(profile, this.#clock.wallMs() - hours * 3_600_000);
    return points.map(({ atMs, ...point }) => ({ at: new Date(atMs).toISOString(), ...point }));
  }
}

// History of the fleet counts: one point every five minutes, kept for a week, in a sorted set by time.

interface StoredPoint {
  readonly atMs: number;
  readonly total: number;
  readonly bySpeedClass: Readonly<Record<string, number>>;
}

const spacingMs = 5 * minuteMs;
const keepMs = 7 * 24 * 60 * minuteMs;

export class FleetHistory {
  readonly #redis: Redis;
  readonly #keys: Keys;

  constructor(deps: { redis: Redis; keys: Keys }) {
    this.#redis = deps.redis;
    this.#keys = deps.keys;
  }

  /** Whether the five-minute interval of this time has no point yet. */
  async isDue(profile: string, atMs: number): Promise<boolean> {
    const slotMs = slotOf(atMs);
    return (await this.#redis.zcount(this.#keys.fleetHistory(profile), slotMs, slotMs)) === 0;
  }

  async add(profile: string, point: StoredPoint): Promise<void> {
    const key = this.#keys.fleetHistory(profile);
    const slotMs = slotOf(point.atMs);
    const before = `(${slotMs - keepMs}`;
    await this.#redis.multi().zadd(key, slotMs, JSON.stringify(point)).zremrangebyscore(key, "-inf", before).exec();
  }

  /** Points, oldest first; if two processes stored the same point, the first one's. */
  async since(profile: string, sinceMs: number): Promise<StoredPoint[]> {
    const texts = await this.#redis.zrangebyscore(this.#keys.fleetHistory(profile), slotOf(sinceMs), "+inf");
    const points = new Map<number, StoredPoint>();
    for (const text of texts) {
      const point = JSON.parse(text) as StoredPoint;
      if (!points.has(slotOf(point.atMs))) points.set(slotOf(point.atMs), point);
    }
    return [...points.values()];
  }
}

function slotOf(atMs: number): number {
  return Math.floor(atMs / spacingMs) * spacingMs;
}
