/** How long to wait before the event stream is opened again. */

/** Delay before reconnect attempt n, from 0: doubles up to 30 s, with jitter so that tabs do not reconnect at once. */
export function reconnectDelayMs(tries: number, chance: number): number {
  const max = Math.min(30_000, 1_000 * 2 ** tries);
  return Math.round(max * (0.5 + chance / 2));
}
