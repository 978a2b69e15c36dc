/**
 * Selects the fault for a call; the exchange applies it. Two sources: faults requested for the next calls (first come,
 * first served), and probabilities with a seed, so that the same calls in the same order get the same faults. A call
 * rejected by an exhausted quota gets no fault: the client sees the response of the quota.
 */
import { z } from "zod";
import { seededRandom } from "./seeded.ts";

/** Each kind of fault; docs/reference/sandbox.md says what it does to a call. */
export const faultKinds = [
  "reset",
  "lost-answer",
  "hang",
  "slow",
  "truncated",
  "html-502",
  "empty-500",
  "nested-error",
  "expire-pairs",
] as const;

export type FaultKind = (typeof faultKinds)[number];

/** Probability of each fault per call. */
export const faultRates = z
  .partialRecord(z.enum(faultKinds), z.number().min(0).max(1))
  .refine(
    (rates) => Object.values(rates).reduce((sum, rate) => sum + rate, 0) <= 1 + 1e-9,
    "the probabilities add up to more than 1",
  );

export function openFaults(options: { seed: number; faults: z.output<typeof faultRates>; faultsOnAuth: boolean }) {
  let random = seededRandom(options.seed);
  /** Requested faults that have not been applied yet, of one operation or of any. */
  const ordered: { readonly kind: FaultKind; readonly operation: string | undefined }[] = [];

  const takeOrdered = (called: string | undefined): FaultKind | undefined => {
    const index = ordered.findIndex(({ operation }) => operation === undefined || operation === called);
    return index < 0 ? undefined : ordered.splice(index, 1)[0]?.kind;
  };

  const drawByRate = (): FaultKind | undefined => {
    let left = random();
    for (const kind of faultKinds) {
      left -= faults.rates[kind] ?? 0;
      if (left < 0) return kind;
    }
    return undefined;
  };

  const faults = {
    /** Number of calls affected by each kind. */
    counts: {} as Partial<Record<FaultKind, number>>,
    /** Probabilities, which can be replaced. */
    rates: options.faults,
    ordered,

    /** Applies this fault to the next `count` calls that can have one: of any operation, or of the named one alone. */
    next(kind: FaultKind, count = 1, operation?: string): void {
      for (let i = 0; i < count; i += 1) ordered.push({ kind, operation });
    },

    /** The fault of the current call, if any. */
    draw(call: { isAuth: boolean; operation?: string | undefined }): FaultKind | undefined {
      if (call.isAuth && !options.faultsOnAuth) return undefined;
      const kind = takeOrdered(call.operation) ?? drawByRate();
      if (kind !== undefined) faults.counts[kind] = (faults.counts[kind] ?? 0) + 1;
      return kind;
    },

    /** Restores the initial state. */
    reset(): void {
      faults.rates = options.faults;
      ordered.length = 0;
      random = seededRandom(options.seed);
      faults.counts = {};
    },
  };
  return faults;
}
