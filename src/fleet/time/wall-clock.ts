/** Converts between instants and local time in a time zone. */

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
/** Gives the times of a schedule after a local time, one by one; undefined after the last one. */
type ShownAfter = (shownMs: number) => () => number | undefined;

/** No zone shifts its clocks by more at once, except when whole days were skipped. */
const maxShiftMs = 3 * hourMs;

export class WallClock {
  readonly #format: Intl.DateTimeFormat;

  /** @param timezone IANA name */
  constructor(timezone: string) {
    this.#format = new Intl.DateTimeFormat("en", { timeZone: timezone, timeZoneName: "longOffset" });
  }

  /** Offset of local time from UTC at an instant. */
  offsetMs(atMs: number): number {
    const name = this.#format.formatToParts(atMs).find(({ type }) => type === "timeZoneName")?.value ?? "";
    const [, sign = "+", hours = "0", minutes = "0"] = /^GMT([+-])(\d\d):(\d\d)/.exec(name) ?? [];
    return (sign === "-" ? -1 : 1) * (Number(hours) * hourMs + Number(minutes) * minuteMs);
  }

  /** Local time at an instant, represented as if it were UTC. */
  shownAt(atMs: number): number {
    return atMs + this.offsetMs(atMs);
  }

  /**
   * The instant of a local time: the first one if it occurs twice; if it is skipped, the instant that would have had
   * that local time without the shift.
   */
  instantOf(shownMs: number): number {
    const before = shownMs - this.offsetMs(shownMs - dayMs);
    if (this.shownAt(before) === shownMs) return before;
    const after = shownMs - this.offsetMs(shownMs + dayMs);
    return this.shownAt(after) === shownMs ? after : before;
  }

  /**
   * The first instant after the given one at which local time is one of some times; repeated local times count each
   * time, skipped ones never: for schedules of every so many minutes.
   */
  firstShownAfter(afterMs: number, shownAfter: ShownAfter): number | undefined {
    let [fromMs, offset] = [afterMs, this.offsetMs(afterMs)];
    for (;;) {
      const shown = shownAfter(fromMs + offset)();
      if (shown === undefined) return undefined;
      const instant = shown - offset;
      if (this.offsetMs(instant) === offset) return instant;
      const change = this.#changeIn(Math.max(fromMs, afterMs), instant);
      [fromMs, offset] = [change - 1, this.offsetMs(change)];
    }
  }

  /** The first instant with the new offset, between two instants whose offsets differ. */
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
   * The first instant after the given one at which it is one of some times of day: each counts once, whether local time
   * repeats or skips it.
   */
  firstAfter(afterMs: number, shownAfter: ShownAfter): number | undefined {
    const offset = this.offsetMs(afterMs);
    const next = shownAfter(afterMs + offset)();
    if (next === undefined) return undefined;
    const plain = next - offset;
    const around = [afterMs - maxShiftMs, plain - maxShiftMs, plain + maxShiftMs].map((atMs) => this.offsetMs(atMs));
    const shiftMs = Math.max(offset, ...around) - Math.min(offset, ...around);
    // Far from any shift, as nearly always.
    if (shiftMs === 0) return plain;
    const nextShown = shownAfter(afterMs + offset - shiftMs);
    let first: number | undefined;
    // A skipped time fires among those that follow it.
    for (let shown = nextShown(); shown !== undefined; shown = nextShown()) {
      if (first !== undefined && shown > this.shownAt(first) + shiftMs) break;
      const instant = this.instantOf(shown);
      if (instant > afterMs) first = Math.min(instant, first ?? instant);
    }
    return first;
  }
}
