import { expect, it } from "vitest";
import { reportOfSync } from "#jobs/inventory/service.ts";
import { newWorkId } from "#engine/record.ts";

const counts = { pages: 3, sims: 250, added: 1, changed: 2, returned: 3, gone: 4 };
const sync = { inventory: "p", profile: "p", syncId: "s-1", ...counts };

it("a sync report has no end and no duration while the sync is in progress", () => {
  expect(reportOfSync({ ...sync, phase: "listing", startedAtMs: 0, cursor: "k" })).toEqual({
    syncId: "s-1",
    profile: "p",
    state: "listing",
    ...counts,
    startedAt: "1970-01-01T00:00:00.000Z",
    startedBy: null,
    finishedAt: null,
    seconds: null,
  });
});

it("a sync report shows the duration in seconds and the reason of a failure", () => {
  const state = { ...sync, phase: "failed", startedAtMs: 500, finishedAtMs: 2_000, reason: "why" } as const;
  expect(reportOfSync(state)).toMatchObject({ state: "failed", seconds: 1.5, reason: "why" });
});

it("sync ids are short and sort by time", () => {
  const ids = [0, 1_000, 61_000, 86_400_000].map((ms) => newWorkId("s", Date.UTC(2026, 10, 20) + ms, 3));
  expect(ids.toSorted()).toEqual(ids);
  for (const id of ids) expect(id).toMatch(/^s-\d{8}-\d{6}-\d{3}$/);
});
