/** Puts the limiter of the library together: its store, and one limiter for each length of a window. */
import { messageOf } from "#core/errors.ts";
import { systemClock } from "#core/time.ts";
import { Limiter } from "#limiter/limiter.ts";
import { KnownPolicies } from "#limiter/policies/known-policies.ts";
import { type FixedLimit, PolicyLimiter } from "#limiter/policies/policy-limiter.ts";
import type { LimiterStore } from "#limiter/store.ts";
import { RedisConnections } from "#redis/connection.ts";
import { Keys } from "#redis/keys.ts";
import { redisTarget } from "./redis-target.ts";

/** Both forms of LimiterOptions (limiter.ts). */
interface LimiterParts {
  /** Without it, the store is this process's memory. */
  readonly redis?: string;
  readonly keyPrefix?: string;
  readonly periodMs?: number;
  readonly reserve?: number;
  readonly limits?: Readonly<Record<string, readonly FixedLimit[]>>;
  readonly onError?: (error: Error) => void;
}

interface OpenStore {
  readonly ready: Promise<LimiterStore>;
  close(): Promise<void>;
}

export function openStore(options: LimiterParts): OpenStore {
  if (options.redis !== undefined) {
    const connections = new RedisConnections(redisTarget(options.redis), options.onError);
    return { ready: Promise.resolve(connections.connect("library")), close: () => connections.close() };
  }
  const beginMs = systemClock.wallMs() - systemClock.monotonicMs();
  // Loaded only where it is used: it takes longer than all the rest.
  const store = import("#limiter/memory/memory-store.ts").then(({ openMemoryStore }) =>
    openMemoryStore(() => beginMs + systemClock.monotonicMs()),
  );
  return { ready: store, close: async () => (await store).close() };
}

export function policyLimiter(redis: LimiterStore, options: LimiterParts): PolicyLimiter {
  const keys = new Keys(options.keyPrefix);
  const { periodMs = 60_000, reserve = 0, limits = {}, onError } = options;
  // Apart from the workers' buckets, which all have one period.
  const ownKeys = new Keys(`${keys.prefix}:policies`);
  const limiters = new Map<string, Limiter>();
  return new PolicyLimiter({
    limiter: new Limiter({ redis, keys, periodMs, reserve }),
    limiterOf: (deps) => {
      const name = `${deps.periodMs} ${deps.fixedLimit}`;
      const limiter = limiters.get(name) ?? new Limiter({ redis, keys: ownKeys, reserve, ...deps });
      limiters.set(name, limiter);
      return limiter;
    },
    policies: new KnownPolicies({ store: redis, keys: ownKeys, periodMs }),
    limits,
    onError: (thrown) => onError?.(thrown instanceof Error ? thrown : new Error(messageOf(thrown))),
  });
}
