/** A run whose planning outlasts the window of its schedule does not start. */
import { expect, it } from "vitest";
import type { Task } from "#fleet/task.ts";
import { ServiceTasks } from "#jobs/tasks/tasks.ts";

const task: Task = {
  job: "apply",
  profile: "default",
  from: { file: "sims.csv" },
  operation: "set-speed-class",
  set: {},
  options: { partial: false },
};

it.each([
  [true, ["draft", "discard"]],
  [false, ["draft", "submit"]],
])("a run that became late while it was planned: %s", async (isLate, wanted) => {
  const calls: string[] = [];
  const noted = (call: string, answer: unknown) => () => {
    calls.push(call);
    return Promise.resolve(answer);
  };
  const report = { calls: 1, rows: 1, problemsInAll: 0, supersedes: [] };
  const runService = {
    exists: () => Promise.resolve(false),
    draft: noted("draft", { report }),
    discard: noted("discard", undefined),
    submit: noted("submit", undefined),
  };
  const tasks = new ServiceTasks({ runs: { service: runService } } as never);
  const begun = tasks.begin(task, { key: "up-1", by: "schedule:up", sinceMs: 0, isLate: () => isLate });
  if (isLate) await expect(begun).rejects.toThrow("planning its run took too long");
  else expect(await begun).toMatchObject({ kind: "run" });
  expect(calls).toEqual(wanted);
});
