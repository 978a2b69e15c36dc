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
export const rightRefreshes: Check = ({ wrongRefreshes }) => wrongRefreshes;
export const staysShut: Check = ({ grantsAfterRefusal }) => grantsAfterRefusal;

export const allOf =
  (...checks: Check[]): Check =>
  (seen, scenario) =>
    checks.flatMap((check) => check(seen, scenario));
