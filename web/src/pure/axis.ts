/** The marks of a chart's axes, at round values. */
import { clockTime, localTime } from "./format.ts";

export interface Mark {
  readonly at: number;
  readonly text: string;
}

/**
 * Whole numbers from 0 on, in steps of 1, 2 or 5 times a power of ten.
 * @param most the largest value of the axis
 * @param room how many marks fit
 */
export function countMarks(max: number, room: number): number[] {
  const min = Math.max(1, max / Math.max(1, room));
  const power = 10 ** Math.floor(Math.log10(min));
  const round = [1, 2, 5, 10].map((digit) => digit * power).find((one) => one >= min && one <= max);
  // Where no round step leaves a mark next to 0, a less round one does.
  const step = round ?? Math.floor(Math.min(Math.ceil(min / power) * power, max));
  return Array.from({ length: Math.floor(max / step) + 1 }, (_, i) => i * step);
}

const minute = 60;
const day = 86_400;
const steps = [1, 5, 10, 30, minute, 5 * minute, 10 * minute, 30 * minute, day / 24, day / 8, day / 4, day / 2, day];

/**
 * Round local times, with the date where a step is a day or longer.
 * @param first, last in seconds since 1970
 */
export function timeMarks([first, last]: readonly [first: number, last: number], room: number): Mark[] {
  const min = (last - first) / Math.max(1, room);
  const step = steps.find((one) => one >= min) ?? Math.ceil(min / day) * day;
  const offset = new Date(first * 1_000).getTimezoneOffset() * minute;
  const start = Math.ceil((first - offset) / step) * step + offset;
  return Array.from({ length: Math.max(0, Math.floor((last - start) / step) + 1) }, (_, i) => {
    const at = start + i * step;
    const ms = at * 1_000;
    return { at, text: step < day ? clockTime(ms) : localTime(new Date(ms).toISOString()).slice(5, 10) };
  });
}
