/** Seeded randomness, so that a run against the sandbox can be repeated with the same faults and pages. */

/** A generator of numbers in [0, 1) (mulberry32): the same seed produces the same sequence. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    return scramble(state) / 2 ** 32;
  };
}

/** A 32-bit integer that depends only on `seed` and `index`: randomness independent of the order of calls. */
export function seededBits(seed: number, index: number): number {
  return scramble((Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) + Math.imul(index + 1, 0x6d2b79f5)) >>> 0);
}

/** Seeded number in [0, 1). */
export function seededShare(seed: number, index: number): number {
  return seededBits(seed, index) / 2 ** 32;
}

function scramble(bits: number): number {
  let mixed = Math.imul(bits ^ (bits >>> 15), bits | 1);
  mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
  return (mixed ^ (mixed >>> 14)) >>> 0;
}
