/**
 * Freezes: the configured periods, and the manual freeze of all changes. Work that changes the platform pauses during
 * one: it does not start, and work in progress makes no further call; a call in flight ends with its response. The
 * queue checks every few seconds, so ending a manual freeze takes effect almost at once.
 */
import type { Keys } from "#redis/keys.ts";
import { SimfleetError } from "#core/errors.ts";
import { type Clock, every, isoTime, secondMs } from "#core/time.ts";
import { type Freeze, type FreezePeriod, freezeAt, freezeTimes } from "#fleet/freeze.ts";
import { type Move, type StoreDeps, makeMove } from "./move-record.ts";
import type { Interruption } from "./queue/job-result.ts";

export interface OrderedFreeze {
  readonly by: string;
  readonly reason: string;
  readonly sinceMs: number;
  readonly untilMs: number | undefined;
}

/** Hash: the manual freeze; absent if there is none. */
const freezeKey = (keys: Keys): string => keys.of("freeze");

export type Freezes = ReturnType<typeof openFreezes>;

export function openFreezes(deps: StoreDeps & { readonly clock: Clock; readonly periods: readonly FreezePeriod[] }) {
  const { redis, keys, clock, periods } = deps;
  const change = async (move: Pick<Move, "set" | "remove" | "events">): Promise<void> =>
    void (await makeMove(deps, { key: freezeKey(keys), profile: "", guard: [], ...move }));

  const ordered = async (): Promise<OrderedFreeze | undefined> => {
    const { by, reason = "", sinceMs, untilMs } = await redis.hgetall(freezeKey(keys));
    if (by === undefined) return undefined;
    const until = untilMs === undefined ? undefined : Number(untilMs);
    if (until !== undefined && until <= clock.wallMs()) return undefined;
    return { by, reason, sinceMs: Number(sinceMs), untilMs: until };
  };

  return {
    /** The manual freeze. */
    ordered,

    /** The current freeze of a profile; if there are several, the one that ends last. */
    of: async (profile: string): Promise<Freeze | undefined> => {
      const manual = await ordered();
      const period = freezeAt(periods, profile, clock.wallMs());
      if (manual === undefined) return period;
      const { by, reason, untilMs } = manual;
      if (untilMs !== undefined && (period?.untilMs ?? 0) > untilMs) return period;
      return { reason: `${by} has frozen all changes${reason === "" ? "" : `: ${reason}`}`, untilMs };
    },

    /** Current and upcoming periods of the configuration, earliest first. @param max times per period */
    times: (max: number) => freezeTimes(periods, clock.wallMs(), max),

    /**
     * Freezes all changes of all profiles, until a given time or until a user ends the freeze.
     * @throws SimfleetError REQUEST_INVALID if that time is not in the future: the freeze would have no effect
     */
    order: async ({ by, reason, untilMs }: Omit<OrderedFreeze, "sinceMs">): Promise<void> => {
      const nowMs = clock.wallMs();
      const until = isoTime(untilMs) ?? undefined;
      if (untilMs !== undefined && untilMs <= nowMs) {
        const message = `The freeze would end at ${until}, which is in the past: give a later time, or none`;
        throw new SimfleetError("REQUEST_INVALID", message);
      }
      await change({
        set: ["by", by, "reason", reason, "sinceMs", nowMs, ...(untilMs === undefined ? [] : ["untilMs", untilMs])],
        remove: untilMs === undefined ? ["untilMs"] : [],
        events: [{ type: "freeze.started", fields: { by, reason, until } }],
      });
    },

    /** Ends the manual freeze; the configured periods still apply. */
    end: (by: string): Promise<void> =>
      change({
        set: [],
        remove: ["by", "reason", "sinceMs", "untilMs"],
        events: [{ type: "freeze.ended", fields: { by } }],
      }),
  };
}

const pollIntervalMs = secondMs;
const askAgainMs = 10 * secondMs;

/**
 * Runs work on a profile unless it is frozen.
 * @param terms `scope`: whether a freeze pauses the queue or only this job; `onFrozen` records why nothing happens
 */
export async function unlessFrozen<V>(
  profile: string,
  terms: {
    readonly clock: Clock;
    readonly freezes: Pick<Freezes, "of">;
    readonly scope: "bucket" | "job";
    readonly signal: AbortSignal;
    readonly onFrozen?: (reason: string, delayMs: number) => Promise<void>;
  },
  work: (signal: AbortSignal) => Promise<V>,
): Promise<V | Interruption> {
  const { clock, freezes, scope, signal, onFrozen } = terms;
  const freeze = await freezes.of(profile);
  if (freeze !== undefined) {
    const leftMs = (freeze.untilMs ?? Number.POSITIVE_INFINITY) - clock.wallMs();
    const delayMs = Math.max(1, Math.min(leftMs, askAgainMs));
    const reason = `changes are frozen: ${freeze.reason}`;
    await onFrozen?.(reason, delayMs);
    return { kind: "postponed", delayMs, scope, reason };
  }
  const halt = new AbortController();
  const poll = async (): Promise<void> => {
    const begun = await freezes.of(profile);
    if (begun !== undefined) halt.abort(new Error(`changes are frozen: ${begun.reason}`));
  };
  const stopPolling = every(pollIntervalMs, () => void poll().catch(() => undefined));
  try {
    return await work(AbortSignal.any([signal, halt.signal]));
  } finally {
    stopPolling();
  }
}
