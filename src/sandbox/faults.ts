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

export type FaultRates = Readonly<z.output<typeof faultRates>>;

interface Options {
  readonly seed: number;
  readonly faults: FaultRates;
  readonly faultsOnAuth: boolean;
}

export class Faults {
  /** Number of calls affected by each kind. */
  counts: Partial<Record<FaultKind, number>> = {};
  /** Probabilities, which can be replaced. */
  rates: FaultRates;
  /** Requested faults that have not been applied yet, of one operation or of any. */
  readonly ordered: { readonly kind: FaultKind; readonly operation: string | undefined }[] = [];
  readonly #options: Options;
  #random: () => number;

  constructor(options: Options) {
    this.#options = options;
    this.rates = options.faults;
    this.#random = seededRandom(options.seed);
  }

  /** Applies this fault to the next `count` calls that can have one: of any operation, or of the named one alone. */
  next(kind: FaultKind, count = 1, operation?: string): void {
    for (let i = 0; i < count; i += 1) this.ordered.push({ kind, operation });
  }

  /** The fault of the current call, if any. */
  draw(call: { isAuth: boolean; operation?: string | undefined }): FaultKind | undefined {
    if (call.isAuth && !this.#options.faultsOnAuth) return undefined;
    const kind = this.#takeOrdered(call.operation) ?? this.#drawByRate();
    if (kind !== undefined) this.counts[kind] = (this.counts[kind] ?? 0) + 1;
    return kind;
  }

  /** Restores the initial state. */
  reset(): void {
    this.rates = this.#options.faults;
    this.ordered.length = 0;
    this.#random = seededRandom(this.#options.seed);
    this.counts = {};
  }

  #takeOrdered(called: string | undefined): FaultKind | undefined {
    const index = this.ordered.findIndex(({ operation }) => operation === undefined || operation === called);
    return index < 0 ? undefined : this.ordered.splice(index, 1)[0]?.kind;
  }

  #drawByRate(): FaultKind | undefined {
    let left = this.#random();
    for (const kind of faultKinds) {
      left -= this.rates[kind] ?? 0;
      if (left < 0) return kind;
    }
    return undefined;
  }
}
