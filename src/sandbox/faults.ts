/**
 * Selects the fault for a call; the exchange applies it. Two sources: faults requested for the next calls (first come,
 * first served), and probabilities with a seed, so that the same calls in the same order get the same faults. A call
 * refused by an exhausted quota gets no fault: the client sees the response of the quota.
 */
import { seededRandom } from "./seeded.ts";

/** Each kind of fault, and its effect for a client. */
const faultCatalogue = {
  reset: "the connection is reset; the call is not carried out and spends no quota",
  "lost-answer": "the call is carried out, then the connection is closed without an answer",
  hang: "no answer ever; the call is not carried out and spends no quota",
  slow: "the call is carried out and answered late",
  truncated: "the call is carried out; the connection is closed in the middle of the body",
  "html-502": "a load balancer's HTML page with status 502; not carried out, no quota, no rate-limit headers",
  "empty-500": "status 500 without a body; not carried out, no quota, no rate-limit headers",
  "nested-error": "status 500 with an error body of the nested form; not carried out, spends quota",
  "expire-pairs": "every pair becomes invalid, then the call is handled as any other",
} as const;

export type FaultKind = keyof typeof faultCatalogue;

export const faultKinds = Object.keys(faultCatalogue) as readonly FaultKind[];

export type FaultRates = Partial<Record<FaultKind, number>>;

export interface FaultOptions {
  /** Seed of records, faults, latencies and page lengths. Default 1. */
  readonly seed: number;
  /** Probability of each fault per call, 0 to 1. Default none. */
  readonly faults: FaultRates;
  /** Whether faults also apply to authentication. Default false. */
  readonly faultsOnAuth: boolean;
  /** Delay of the fault `slow`. Default 2000. */
  readonly slowMs: number;
}

/** A fault requested for a next call. */
interface OrderedFault {
  readonly kind: FaultKind;
  /** Only for a call of this operation; undefined: for any. */
  readonly operation: string | undefined;
}

export class Faults {
  /** Number of calls affected by each kind. */
  readonly counts: Partial<Record<FaultKind, number>> = {};
  readonly #options: FaultOptions;
  #rates: FaultRates;
  #ordered: OrderedFault[] = [];
  #random: () => number;

  constructor(options: FaultOptions) {
    this.#options = options;
    this.#rates = options.faults;
    this.#random = seededRandom(options.seed);
  }

  get rates(): FaultRates {
    return this.#rates;
  }

  /** Requested faults that have not been applied yet. */
  get ordered(): readonly FaultKind[] {
    return this.#ordered.map(({ kind }) => kind);
  }

  /** Replaces all probabilities. @throws RangeError if they are invalid */
  setRates(rates: FaultRates): void {
    const problems = problemsOfRates(rates);
    if (problems.length > 0) throw new RangeError(problems.join("; "));
    this.#rates = rates;
  }

  /** Applies this fault to the next `count` calls that can have one: of any operation, or of the named one alone. */
  next(kind: FaultKind, count = 1, operation?: string): void {
    for (let i = 0; i < count; i += 1) this.#ordered.push({ kind, operation });
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
    this.#rates = this.#options.faults;
    this.#ordered = [];
    this.#random = seededRandom(this.#options.seed);
    for (const kind of faultKinds) delete this.counts[kind];
  }

  #takeOrdered(called: string | undefined): FaultKind | undefined {
    const index = this.#ordered.findIndex(({ operation }) => operation === undefined || operation === called);
    return index < 0 ? undefined : this.#ordered.splice(index, 1)[0]?.kind;
  }

  #drawByRate(): FaultKind | undefined {
    let left = this.#random();
    for (const kind of faultKinds) {
      left -= this.#rates[kind] ?? 0;
      if (left < 0) return kind;
    }
    return undefined;
  }
}

/** Validates a set of probabilities; their sum may not exceed 1. */
export function problemsOfRates(rates: Partial<Record<string, number>>): string[] {
  const known: readonly string[] = faultKinds;
  const unknown = Object.keys(rates).filter((kind) => !known.includes(kind));
  const values = Object.values(rates).map((rate) => rate ?? 0);
  const problems = unknown.map((kind) => `unknown fault ${kind}; known: ${faultKinds.join(", ")}`);
  if (values.some((rate) => !(rate >= 0 && rate <= 1))) problems.push("a probability must be 0 to 1");
  if (values.reduce((sum, rate) => sum + rate, 0) > 1 + 1e-9) problems.push("the probabilities add up to more than 1");
  return problems;
}
