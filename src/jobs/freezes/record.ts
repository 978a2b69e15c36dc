/** Freezes: the configured periods, and the manual freeze of all changes. */
import type { Redis } from "ioredis";
import type { Keys } from "#redis/keys.ts";
import { SimfleetError } from "#core/errors.ts";
import type { Clock } from "#core/time.ts";
import { type Freeze, type FreezeTime, type FreezePeriod, freezeAt, freezeTimes } from "#fleet/freeze.ts";
import { type StoreDeps, makeMove } from "#engine/move-record.ts";

/** A manual freeze of all changes. */
export interface OrderedFreeze {
  readonly by: string;
  readonly reason: string;
  readonly sinceMs: number;
  readonly untilMs: number | undefined;
}

/** Hash: the manual freeze; absent if there is none. */
const freezeKey = (keys: Keys): string => keys.of("freeze");

export class Freezes {
  readonly #deps: StoreDeps & { readonly clock: Clock; readonly periods: readonly FreezePeriod[] };
  readonly #redis: Redis;
  readonly #held: ((profile: string) => Promise<number>)[] = [];

  constructor(deps: StoreDeps & { readonly clock: Clock; readonly periods: readonly FreezePeriod[] }) {
    this.#deps = deps;
    this.#redis = deps.redis;
  }

  /** Says how many processes do work of a profile that freezes hold. */
  holds(workersOf: (profile: string) => Promise<number>): void {
    this.#held.push(workersOf);
  }

  /** The number of processes that a freeze of the profile reaches. */
  async workersOf(profile: string): Promise<number> {
    return Math.max(0, ...(await Promise.all(this.#held.map((workersOf) => workersOf(profile)))));
  }

  /** The current freeze of a profile; if there are several, the one that ends last. */
  async of(profile: string): Promise<Freeze | undefined> {
    const { periods, clock } = this.#deps;
    const ordered = await this.ordered();
    const period = freezeAt(periods, profile, clock.wallMs());
    if (ordered === undefined) return period;
    const { by, reason, untilMs } = ordered;
    if (untilMs !== undefined && (period?.untilMs ?? 0) > untilMs) return period;
    return { reason: `${by} has frozen all changes${reason === "" ? "" : `: ${reason}`}`, untilMs };
  }

  /** Current and upcoming periods of the configuration, earliest first. @param max times per period */
  times(max: number): FreezeTime[] {
    const { periods, clock } = this.#deps;
    return freezeTimes(periods, clock.wallMs(), max);
  }

  /** The manual freeze, if one is active. */
  async ordered(): Promise<OrderedFreeze | undefined> {
    const { by, reason = "", sinceMs, untilMs } = await this.#redis.hgetall(freezeKey(this.#deps.keys));
    if (by === undefined) return undefined;
    const until = untilMs === undefined ? undefined : Number(untilMs);
    if (until !== undefined && until <= this.#deps.clock.wallMs()) return undefined;
    return { by, reason, sinceMs: Number(sinceMs), untilMs: until };
  }

  /**
   * Freezes all changes of all profiles, until a given time or until a user ends the freeze.
   * @throws SimfleetError REQUEST_INVALID if that time is not in the future: the freeze would have no effect
   */
  async order({ by, reason, untilMs }: Omit<OrderedFreeze, "sinceMs">): Promise<void> {
    const { keys, clock } = this.#deps;
    if (untilMs !== undefined && untilMs <= clock.wallMs()) {
      const message = `The freeze would end at ${new Date(untilMs).toISOString()}, which is in the past: give a later time, or none`;
      throw new SimfleetError("REQUEST_INVALID", message);
    }
    const until = untilMs === undefined ? undefined : new Date(untilMs).toISOString();
    const set = ["by", by, "reason", reason, "sinceMs", clock.wallMs()];
    await makeMove(this.#deps, {
      key: freezeKey(keys),
      profile: "",
      guard: [],
      set: untilMs === undefined ? set : [...set, "untilMs", untilMs],
      remove: untilMs === undefined ? ["untilMs"] : [],
      events: [
        {
          type: "freeze.started",
          fields: {
            by,
            reason,
            until,
          },
        },
      ],
    });
  }

  /** Ends the manual freeze; the configured periods still apply. */
  async end(by: string): Promise<void> {
    const { keys } = this.#deps;
    await makeMove(this.#deps, {
      key: freezeKey(keys),
      profile: "",
      guard: [],
      set: [],
      remove: ["by", "reason", "sinceMs", "untilMs"],
      events: [
        {
          type: "freeze.ended",
          fields: { by },
        },
      ],
    });
  }
}
