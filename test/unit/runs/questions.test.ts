/** What commands ask before a run, and the reason of a run that a signal pauses. */
import { expect, test } from "vitest";
import { changesQuestion } from "#jobs/runs/commands/plan.ts";
import { stopReason } from "#jobs/runs/commands/follow-run.ts";
import { changedText } from "#jobs/runs/contract.ts";
import { undoQuestion } from "#jobs/runs/commands/runs.ts";
import { setSpeedClass } from "#fleet/sim-operation/sim-operation.ts";
import { PlanTally } from "#jobs/runs/plan/tally.ts";
import { kindOfReason, reasonMatcher } from "#jobs/runs/results/run-summary.ts";

const changed = {
  profile: "default",
  operator: "OP0000000001",
  operation: "set-speed-class",
  changes: [
    { from: "s1.fast", to: "s1.slow", count: 41 },
    { from: null, to: "s1.slow", count: 12 },
    { to: "s1.slow", count: 7 },
    { from: "s1.standard", to: "s1.slow", count: 2 },
  ],
  changesInAll: 63,
};

test("what a run changes names the account, the values before and after, and the number of the others", () => {
  const shown = "s1.fast → s1.slow 41, none → s1.slow 12, unknown → s1.slow 7";
  expect(changedText(changed)).toBe(`set-speed-class on OP0000000001 (default): ${shown}, and 3 other changes`);
  const message = { profile: "tokyo", operation: "send-sms", changes: [], changesInAll: 1 };
  expect(changedText(message)).toBe("send-sms on tokyo: 1 SIM");
});

const verdicts = {
  change: 13,
  unchanged: 46,
  "not-in-inventory": 2,
  duplicate: 0,
  conflict: 0,
  rejected: 0,
  invalid: 0,
};

test.each([
  [61, 46, 0, "Make 15 changes? (46 more calls change nothing; --skip-unchanged leaves them out)"],
  [2, 1, 0, "Make 1 change? (1 more call changes nothing; --skip-unchanged leaves them out)"],
  [15, 46, 46, "Make 15 changes?"],
  [16, 46, 45, "Make 15 changes? (1 more call changes nothing; --skip-unchanged leaves them out)"],
  [1_500, 0, 0, "Make 1,500 changes?"],
])(
  "a plan of %d calls, %d of them unchanged, asks about the changes alone",
  (calls, unchanged, unchangedSkipped, text) => {
    const plan = { ...changed, calls, verdicts: { ...verdicts, unchanged }, unchangedSkipped };
    expect(changesQuestion(plan)).toBe(`${changedText(changed)}. ${text}`);
  },
);

test.each([
  [735, 893, "Restore the previous state of 735 SIMs? (158 other rows stay as they are)"],
  [1, 2, "Restore the previous state of 1 SIM? (1 other row stays as it is)"],
  [51, 51, "Restore the previous state of 51 SIMs?"],
])("an undo of %d SIMs of %d rows asks about those that it restores", (calls, rows, text) => {
  expect(undoQuestion({ ...changed, calls, rows })).toBe(`${changedText(changed)}. ${text}`);
});

test.each([
  [new Error("stopped by SIGTERM"), "stopped by SIGTERM"],
  [new Error("stopped by SIGINT"), "stopped with Ctrl-C"],
])("a run that is paused by %s says so", (reason, text) => {
  expect(stopReason(AbortSignal.abort(reason))).toBe(text);
});

test("reasons that differ by a value or a time are of one kind, which each of them matches", () => {
  const sent = (atMs: number) => `sent at ${new Date(atMs).toISOString()}, and its response was lost`;
  const kind = kindOfReason(sent(1_790_000_000_000));
  expect(kindOfReason(sent(1_800_000_000_000))).toBe(kind);
  expect(kindOfReason('no SIM 8942310410007115471 in "a"')).toBe("no SIM … in …");
  expect(reasonMatcher(kind)(sent(0))).toBe(true);
  expect(reasonMatcher("a…b…c")("aXbYc")).toBe(true);
  for (const other of ["aXc", "abX", "Xabc", "ab"]) expect(reasonMatcher("a…b…c")(other)).toBe(false);
  expect(reasonMatcher("ab…bc")("abc")).toBe(false);
});

test("changes are counted by their values, whatever else a row has, and a row may be taken back", () => {
  const inputs = ["tag", "note"].map((name) => ({ name, type: "text", isRequired: false }) as const);
  const operation = { ...setSpeedClass, inputs, sets: { "tags.{tag}": "on" } };
  const tally = new PlanTally([operation]).changes;
  const row = (note: string, before: string | null) => {
    return { index: 0, line: 2, key: "8942", cells: [], weight: 1, inputs: ["site", note], before: [before] };
  };
  for (const note of ["a", "b", "c"]) tally.add(row(note, "off"), 1);
  tally.add(row("d", null), 1);
  tally.add(row("c", "off"), -1);
  expect(tally.mostFrequent()).toEqual([
    { from: "tags.site=off", to: "tags.site=on", count: 2 },
    { from: null, to: "tags.site=on", count: 1 },
  ]);
});
