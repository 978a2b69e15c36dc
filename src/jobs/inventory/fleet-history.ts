/** History of the fleet counts: one point every five minutes, kept for a week, in a sorted set by time. */
import type { Redis } from "ioredis";
import { minuteMs } from "#core/time.ts";
import type { Keys } from "#redis/keys.ts";

export interface FleetPoint {
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

  async add(profile: string, point: FleetPoint): Promise<void> {
    const key = this.#keys.fleetHistory(profile);
    const slotMs = slotOf(point.atMs);
    const before = `(${slotMs - keepMs}`;
    await this.#redis.multi().zadd(key, slotMs, JSON.stringify(point)).zremrangebyscore(key, "-inf", before).exec();
  }

  /** Points, oldest first; if two processes stored the same point, the first one's. */
  async since(profile: string, sinceMs: number): Promise<FleetPoint[]> {
    const texts = await this.#redis.zrangebyscore(this.#keys.fleetHistory(profile), slotOf(sinceMs), "+inf");
    const points = new Map<number, FleetPoint>();
    for (const text of texts) {
      const point = JSON.parse(text) as FleetPoint;
      if (!points.has(slotOf(point.atMs))) points.set(slotOf(point.atMs), point);
    }
    return [...points.values()];
  }
}

function slotOf(atMs: number): number {
  return Math.floor(atMs / spacingMs) * spacingMs;
}
