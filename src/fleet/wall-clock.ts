/** Clocks on the wall of a time zone: what they show at an instant, and when they show a time of day. */

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
/** No zone changes its clocks by more at once, but for days that were left out altogether. */
const mostShiftMs = 3 * hourMs;

export class WallClock {
  readonly #format: Intl.DateTimeFormat;
  readonly #oddYears = new Map<number, boolean>();

  /** @param timezone IANA name */
  constructor(timezone: string) {
    this.#format = new Intl.DateTimeFormat("en", { timeZone: timezone, timeZoneName: "longOffset" });
  }

  /** What is to be added to an instant to get what the clocks show, as if that were UTC. */
  offsetMs(atMs: number): number {
    const name = this.#format.formatToParts(atMs).find(({ type }) => type === "timeZoneName")?.value ?? "";
    const [, sign = "+", hours = "0", minutes = "0"] = /^GMT([+-])(\d\d):(\d\d)/.exec(name) ?? [];
    return (sign === "-" ? -1 : 1) * (Number(hours) * hourMs + Number(minutes) * minuteMs);
  }

  /** What the clocks show at an instant, as if that were UTC. */
  shownAt(atMs: number): number {
    return atMs + this.offsetMs(atMs);
  }

  /**
   * The instant at which the clocks show a time: the first one where they show it twice; where they leave it out, as much
   * after the change as it is after the time that the clocks had then.
   */
  instantOf(shownMs: number): number {
    const before = shownMs - this.offsetMs(shownMs - dayMs);
    if (this.shownAt(before) === shownMs) return before;
    const after = shownMs - this.offsetMs(shownMs + dayMs);
    return this.shownAt(after) === shownMs ? after : before;
  }

  /** Whether the clocks are changed by anything but an hour in the year of an instant. */
  isOddIn(atMs: number): boolean {
    const year = new Date(atMs).getUTCFullYear();
    let isOdd = this.#oddYears.get(year);
    if (isOdd === undefined) {
      const newYear = Date.UTC(year);
      const offsets = Array.from({ length: 27 }, (_, n) => this.offsetMs(newYear + (n - 1) * 14 * dayMs));
      isOdd = offsets.some((offset, n) => ![0, hourMs].includes(Math.abs(offset - (offsets[n - 1] ?? offset))));
      this.#oddYears.set(year, isOdd);
    }
    return isOdd;
  }

  /**
   * The first instant after one at which the clocks show one of some times, each as often as it is shown, and what is left
   * out never: for what comes every so many minutes.
   */
  firstShownAfter(afterMs: number, nextShown: (shownMs: number) => number | undefined): number | undefined {
    let [fromMs, offset] = [afterMs, this.offsetMs(afterMs)];
    for (;;) {
      const shown = nextShown(fromMs + offset);
      if (shown === undefined) return undefined;
      const instant = shown - offset;
      if (this.offsetMs(instant) === offset) return instant;
      const change = this.#changeIn(Math.max(fromMs, afterMs), instant);
      [fromMs, offset] = [change - 1, this.offsetMs(change)];
    }
  }

  /** The first instant of another offset than there was at the first of two that differ by it. */
  #changeIn(fromMs: number, toMs: number): number {
    const offset = this.offsetMs(fromMs);
    let [before, after] = [fromMs, toMs];
    while (after - before > 1) {
      const middle = Math.floor((before + after) / 2);
      if (this.offsetMs(middle) === offset) before = middle;
      else after = middle;
    }
    return after;
  }

  /**
   * The first instant after one at which it is one of some times of day: each once, whether the clocks show it twice or
   * leave it out.
   * @param nextShown the first of those times after a time shown; undefined when there is none
   */
  firstAfter(afterMs: number, nextShown: (shownMs: number) => number | undefined): number | undefined {
    let first: number | undefined;
    let shown = nextShown(this.shownAt(afterMs) - mostShiftMs);
    // A time that was left out comes among those that follow it.
    while (shown !== undefined && (first === undefined || shown <= this.shownAt(first) + mostShiftMs)) {
      const instant = this.instantOf(shown);
      if (instant > afterMs) first = Math.min(instant, first ?? instant);
      shown = nextShown(shown);
    }
    return first;
  }
}
