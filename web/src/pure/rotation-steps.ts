/** The progress of a rotation, as a sequence of steps. */
import { rotationsText as text } from "../strings/credentials.ts";
import type { RotationReport } from "./shapes.ts";

const courses: Readonly<Record<string, readonly string[]>> = {
  successor: ["planned", "generated", "handed-over", "created", "repointed", "done"],
  "in-place": ["planned", "generated", "handed-over", "updated", "done"],
};

export interface Step {
  readonly word: string;
  readonly isPast: boolean;
}

/** Empty if it is in none of the steps: before the first rotation, and while one is rolled back. */
export function stepsOf({ state, strategy }: Pick<RotationReport, "state" | "strategy">): Step[] {
  const course = courses[strategy] ?? [];
  const at = course.indexOf(state);
  return at < 0 ? [] : course.map((name, i) => ({ word: text.steps[name] ?? name, isPast: i <= at }));
}

export function isInProgress({ state }: Pick<RotationReport, "state">): boolean {
  return state !== "done" && state !== "failed" && state !== "never";
}
