/**
 * How fast a run makes its calls. They go out in bursts, one at each refresh of the quota, so that only a stretch of
 * several windows tells the rate: that of the last two minutes, once they were watched for long enough.
 */

const stretchMs = 120_000;
/** Less of it may be all burst, or all pause. */
const leastMs = 60_000;

export class Rate {
  #samples: { readonly atMs: number; readonly count: number }[] = [];

  /** @param atMs of a clock that does not jump */
  add(count: number, atMs: number): void {
    if (count < (this.#samples.at(-1)?.count ?? 0)) this.#samples = [];
    this.#samples.push({ atMs, count });
    while (this.#samples.length > 2 && (this.#samples[1]?.atMs ?? atMs) <= atMs - stretchMs) this.#samples.shift();
  }

  /** Undefined while too little was seen. */
  perMinute(): number | undefined {
    const [first, last] = [this.#samples[0], this.#samples.at(-1)];
    if (first === undefined || last === undefined || last.atMs - first.atMs < leastMs) return undefined;
    return ((last.count - first.count) * 60_000) / (last.atMs - first.atMs);
  }
}
