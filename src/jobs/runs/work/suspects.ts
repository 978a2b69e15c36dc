/**
 * Finds the row that kills its worker, and sets it aside after three deaths. After the first death of a process with the
 * job, each row is marked before its call. The rows with a mark that the next death leaves behind are tried alone, one after
 * the other; a row that has two marks after that was being worked on in three deaths at most, and in the last one alone.
 * Marks are taken back when the work on the segment ends in any other way.
 */
import type { Ledger } from "../ledger/ledger.ts";
import type { Tries } from "../ledger/packing.ts";

/** Marks that set a row aside; the first death left none. */
const mostMarks = 2;

export const setAsideReason = "stopped: its worker crashed three times, the last time while processing this row alone";

interface Deps {
  readonly ledger: Ledger;
  readonly runId: string;
  readonly segment: number;
  /** Of the segment, shared with its work. */
  readonly tries: Map<number, Tries>;
  /** How many processes have died with the job. */
  readonly deaths: number;
}

export class Suspects {
  readonly #deps: Deps;
  readonly #marked = new Set<number>();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  isSetAside(place: number): boolean {
    return this.#marksOf(place) >= mostMarks;
  }

  /** Divides rows into those to be tried alone, one after the other, and the rest. */
  split<T>(rows: readonly (readonly [place: number, row: T])[]) {
    const isSuspect = ([place]: readonly [number, T]): boolean => this.#marksOf(place) > 0;
    return { alone: rows.filter(isSuspect), together: rows.filter((row) => !isSuspect(row)) };
  }

  /** Must be awaited before a row is worked on. */
  async mark(place: number): Promise<void> {
    const { ledger, runId, segment, tries, deaths } = this.#deps;
    if (deaths === 0) return;
    const before = tries.get(place) ?? { attempts: 0, reason: "" };
    const marked: Tries = { ...before, deaths: this.#marksOf(place) + 1 };
    this.#marked.add(place);
    tries.set(place, marked);
    await ledger.recordTries(runId, segment, new Map([[place, marked]]));
  }

  /** Takes the marks of this process back from rows without an outcome. */
  async clear(pending: ReadonlyMap<number, unknown>): Promise<void> {
    const { ledger, runId, segment, tries } = this.#deps;
    const cleared = new Map<number, Tries>();
    for (const place of this.#marked) {
      const { deaths: _, ...others } = tries.get(place) ?? { attempts: 0, reason: "" };
      if (pending.has(place)) cleared.set(place, others);
      tries.set(place, others);
    }
    this.#marked.clear();
    await ledger.recordTries(runId, segment, cleared);
  }

  #marksOf(place: number): number {
    return this.#deps.tries.get(place)?.deaths ?? 0;
  }
}
