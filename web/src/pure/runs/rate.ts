/**
 * The call rate of a run. Calls come in bursts, one at each refresh of the quota, so only a period of several windows
 * shows the rate: that of the last two minutes, once enough of it was observed.
 */

const stretchMs = 120_000;
/** A shorter period may be all burst, or all pause. */
const leastMs = 60_000;

export class Rate {
  #samples: { readonly atMs: number; readonly count: number }[] = [];

  /** @param atMs of a monotonic clock */
  add(count: number, atMs: number): void {
    if (count < (this.#samples.at(-1)?.count ?? 0)) this.#samples = [];
    this.#samples.push({ atMs, count });
    while (this.#samples.length > 2 && (this.#samples[1]?.atMs ?? atMs) <= atMs - stretchMs) this.#samples.shift();
  }

  /** Undefined until enough was observed. */
  perMinute(): number | undefined {
    const [first, last] = [this.#samples[0], this.#samples.at(-1)];
    if (first === undefined || last === undefined || last.atMs - first.atMs < leastMs) return undefined;
    return ((last.count - first.count) * 60_000) / (last.atMs - first.atMs);
  }
}
