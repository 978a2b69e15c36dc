/**
 * Answers that take long to compute are kept for ten times as long as they took, and concurrent callers share one. So
 * an answer that is asked for all the time costs a tenth of one core at most.
 */
import type { Clock } from "./time.ts";

const maxKept = 100;

interface Kept<T> {
  readonly answer: Promise<T>;
  untilMs: number;
}

/**
 * @param minMs least time for which a response is kept
 * @returns computes a response, or returns the one that is kept under its name; a failed one is not kept
 */
export function keepAnswers<T>(clock: Clock, minMs: number): (name: string, compute: () => Promise<T>) => Promise<T> {
  const kept = new Map<string, Kept<T>>();
  return (name, compute) => {
    const startMs = clock.monotonicMs();
    const known = kept.get(name);
    if (known !== undefined && startMs < known.untilMs) return known.answer;
    const now: Kept<T> = { answer: compute(), untilMs: Number.POSITIVE_INFINITY };
    kept.delete(name);
    kept.set(name, now);
    const [oldest] = kept.keys();
    if (kept.size > maxKept && oldest !== undefined) kept.delete(oldest);
    now.answer.then(
      () => (now.untilMs = clock.monotonicMs() + Math.max(minMs, 10 * (clock.monotonicMs() - startMs))),
      () => kept.get(name) === now && kept.delete(name),
    );
    return now.answer;
  };
}
