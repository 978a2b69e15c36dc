/** Checks of what must be true of a bucket in a scenario. */
import type { Check } from "./scenarios.ts";
import type { Window } from "./model-platform.ts";
import { beginMs } from "./world.ts";

export const ours = (counts: Window["counted"]): number => counts.normal + counts.priority;
export const nameOf = (window: Window): string => `the window of ${((window.beginMs - beginMs) / 1_000).toFixed(3)} s`;

const fewRefusals =
  (max: number): Check =>
  ({ windows }) =>
    windows
      .filter(({ refused }) => ours(refused) > max)
      .map((w) => `${nameOf(w)} met ${ours(w.refused)} answers of 429`);
export const noRefusal = fewRefusals(0);
export const onePerWindow = fewRefusals(1);

/** Says which of these windows were used for fewer calls, those of others included. */
export const reportUnused = (windows: readonly Window[], least: (limit: number) => number): string[] =>
  windows
    .filter((w) => ours(w.counted) + w.counted.other < least(w.limit))
    .map((w) => `${nameOf(w)} was used for ${ours(w.counted)} of ${w.limit - w.counted.other} calls`);
/** All windows but the first and the last are used for so many calls. */
export const usesWindows =
  (least: (limit: number) => number): Check =>
  ({ windows }) =>
    reportUnused(windows.slice(1, -1), least);
export const rightRefreshes: Check = ({ wrongRefreshes }) => wrongRefreshes;
export const staysShut: Check = ({ grantsAfterRefusal }) => grantsAfterRefusal;

export const allOf =
  (...checks: Check[]): Check =>
  (seen, scenario) =>
    checks.flatMap((check) => check(seen, scenario));
