import { expect, it } from "vitest";
import type { Change, SimRun } from "../../../web/src/pure/shapes.ts";
import { timelineOf } from "../../../web/src/pure/sims/sim.ts";

it("a timeline of a SIM has runs and changes in order, and a change of a run only with the run", () => {
  const run = { runId: "r-1", line: 2, finishedAt: "2026-11-22T10:00:00Z", createdAt: "2026-11-22T09:00:00Z" };
  const change = (id: string, cause: string, at: string) => ({ id, cause, at, type: "sim.changed", sim: "1" });
  const rows = timelineOf([run as SimRun], [
    change("3", "s-1", "2026-11-22T11:00:00Z"),
    change("2", "r-1", "2026-11-22T10:00:00Z"),
    change("1", "r-0", "2026-11-22T08:00:00Z"),
  ] as Change[]);
  expect(rows.map((row) => ("run" in row ? [row.run.runId, row.changes.length] : row.change.id))).toEqual([
    "3",
    ["r-1", 1],
    "1",
  ]);
});
