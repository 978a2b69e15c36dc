/**
 * The plan of faults of one seed: what breaks, when, for how long, and at which worker. The same seed gives the same
 * plan. Every kind of fault comes first in some plan, so that as many seeds as there are kinds cover them all.
 */
import { seededRandom } from "#sandbox/seeded.ts";

/** Each kind: how often it is drawn, and the shortest and longest time until it is over, ms. */
const kinds = {
  "worker-kill": { weight: 3, lastsMs: [200, 1_500] },
  "worker-freeze": { weight: 2, lastsMs: [800, 3_000] },
  /** Longer than the lock of a job: another worker takes over what the frozen one still believes to hold. */
  "worker-long-freeze": { weight: 0.5, lastsMs: [12_000, 14_000] },
  "worker-term": { weight: 2, lastsMs: [200, 1_500] },
  "redis-kill": { weight: 2, lastsMs: [100, 2_000] },
  "redis-freeze": { weight: 2, lastsMs: [500, 3_000] },
  "redis-full": { weight: 2, lastsMs: [500, 2_500] },
  "redis-cut": { weight: 2, lastsMs: [0, 0] },
  "redis-cut-reply": { weight: 2, lastsMs: [300, 1_500] },
  "redis-refuse": { weight: 1, lastsMs: [300, 2_500] },
  "redis-delay": { weight: 1, lastsMs: [500, 2_500] },
  "redis-stall": { weight: 1, lastsMs: [500, 3_000] },
  "platform-cut": { weight: 2, lastsMs: [0, 0] },
  "platform-cut-reply": { weight: 2, lastsMs: [300, 1_500] },
  "platform-refuse": { weight: 1, lastsMs: [300, 2_000] },
  "platform-delay": { weight: 1, lastsMs: [500, 2_500] },
  "platform-stall": { weight: 1, lastsMs: [500, 2_500] },
  "platform-faults": { weight: 4, lastsMs: [800, 3_000] },
  "platform-hang": { weight: 0.5, lastsMs: [200, 400] },
  "platform-quota": { weight: 1, lastsMs: [1_000, 3_000] },
  "clock-jump": { weight: 2, lastsMs: [500, 3_000] },
  "disk-full": { weight: 2, lastsMs: [1_000, 4_000] },
  "receiver-down": { weight: 1, lastsMs: [500, 2_500] },
} as const satisfies Record<string, { weight: number; lastsMs: readonly [number, number] }>;

export type FaultKind = keyof typeof kinds;
const faultKinds = Object.keys(kinds) as readonly FaultKind[];

export interface PlannedFault {
  readonly kind: FaultKind;
  /** After the load started. */
  readonly atMs: number;
  readonly lastsMs: number;
  /** Number of the worker that it hits; faults of what all workers share ignore it. */
  readonly worker: number;
  /** In [0, 1): what else there is to choose, such as how far a clock jumps. */
  readonly share: number;
}

export interface Plan {
  readonly seed: number;
  readonly workers: number;
  readonly faults: readonly PlannedFault[];
}

const windowMs = 4_000;

/** @param isCalm no faults at all, to compare with */
export function planOf(seed: number, isCalm = false): Plan {
  const random = seededRandom(seed);
  const workers = 1 + Math.floor(random() * 3);
  const count = isCalm ? 0 : 3 + Math.floor(random() * 5);
  const faults = Array.from({ length: count }, (_, i): PlannedFault => {
    const kind = i === 0 ? (faultKinds[seed % faultKinds.length] ?? "worker-kill") : drawKind(random());
    const [min, max] = kinds[kind].lastsMs;
    return {
      kind,
      atMs: Math.round(200 + random() * windowMs),
      lastsMs: Math.round(min + random() * (max - min)),
      worker: Math.floor(random() * workers),
      share: random(),
    };
  });
  return { seed, workers: isCalm ? 2 : workers, faults: faults.toSorted((a, b) => a.atMs - b.atMs) };
}

function drawKind(share: number): FaultKind {
  const sum = faultKinds.reduce((total, kind) => total + kinds[kind].weight, 0);
  let left = share * sum;
  for (const kind of faultKinds) {
    left -= kinds[kind].weight;
    if (left < 0) return kind;
  }
  return "worker-kill";
}
