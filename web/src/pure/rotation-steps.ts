/** The progress of a rotation, as a sequence of steps. */
import type { RotationReport } from "./shapes.ts";

const stepsText = {
  planned: "planned",
  generated: "new secret generated",
  delivered: "delivered to its sinks",
  created: "sent to the platform",
  updated: "sent to the platform",
  switched: "groups use the new set",
  done: "old secret removed",
} as Readonly<Record<string, string>>;

const courses: Readonly<Record<string, readonly string[]>> = {
  successor: ["planned", "generated", "delivered", "created", "switched", "done"],
  "in-place": ["planned", "generated", "delivered", "updated", "done"],
};

export interface Step {
  readonly word: string;
  readonly isPast: boolean;
}

/** Empty if it is in none of the steps: before the first rotation, and while one is rolled back. */
export function stepsOf({ state, strategy }: Pick<RotationReport, "state" | "strategy">): Step[] {
  const course = courses[strategy] ?? [];
  const at = course.indexOf(state);
  return at < 0 ? [] : course.map((name, i) => ({ word: stepsText[name] ?? name, isPast: i <= at }));
}

export function isInProgress({ state }: Pick<RotationReport, "state">): boolean {
  return state !== "done" && state !== "failed" && state !== "never";
}
