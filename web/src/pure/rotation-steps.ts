/** The progress of a rotation, as a sequence of steps. */
import type { RotationReport } from "./shapes.ts";

const words: Readonly<Record<string, string>> = {
  planned: "planned",
  generated: "new secret made",
  "handed-over": "handed to its sinks",
  created: "given to the platform",
  updated: "given to the platform",
  repointed: "groups name the new set",
  done: "old secret gone",
};

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
  return at < 0 ? [] : course.map((name, i) => ({ word: words[name] ?? name, isPast: i <= at }));
}

export function isInProgress({ state }: Pick<RotationReport, "state">): boolean {
  return state !== "done" && state !== "failed" && state !== "never";
}
