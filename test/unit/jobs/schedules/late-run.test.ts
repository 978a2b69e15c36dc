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

/** Tasks whose runs are planned and not more, and what is asked of the service of runs. */
function setup() {
  const calls: string[] = [];
  const noted = (call: string, answer?: unknown) => () => {
    calls.push(call);
    return Promise.resolve(answer);
  };
  const report = { calls: 1, rows: 1, problemsInAll: 0, supersedes: [] };
  const service = {
    exists: () => Promise.resolve(false),
    draft: noted("draft", { report }),
    discard: noted("discard"),
    submit: noted("submit"),
  };
  return { calls, tasks: new ServiceTasks({ runs: { service } } as never) };
}

it.each([
  [true, ["draft", "discard"]],
  [false, ["draft", "submit"]],
])("a run that became late while it was planned does not start: %s", async (isLate, wanted) => {
  const { calls, tasks } = setup();
  const begun = tasks.begin(task, { key: "up-1", by: "schedule:up", dueMs: 0, sinceMs: 0, isLate: () => isLate });
  if (isLate) await expect(begun).rejects.toThrow("planning its run took too long");
  else expect(await begun).toMatchObject({ kind: "run" });
  expect(calls).toEqual(wanted);
});
