/** What happened since a time, counted from events. */
import { expect, test } from "vitest";
import type { Event, EventType } from "#events/event.ts";
import { summarize } from "#events/endpoints.ts";
import "#features.ts";

const atMs = Date.parse("2026-11-25T06:00:00Z");
const since = { sinceMs: atMs - 3_600_000 };

/** A feed of these events, the newest first, in pages. */
function feedOf(events: readonly (readonly [string, Record<string, string>?])[], pageSize = 1_000) {
  const all = events.map(([type, fields = {}], n): Event => {
    return { id: `${atMs - n}-0`, type: type as EventType, atMs, profile: "", fields };
  });
  return {
    newest: (_: unknown, { cursor = "0" }: { cursor?: string | undefined }) => {
      const end = Number(cursor) + pageSize;
      const nextCursor = end < all.length ? String(end) : null;
      return Promise.resolve({ events: all.slice(Number(cursor), end), nextCursor });
    },
  };
}

/** What is said of these events, the newest first. */
const summarizeAll = (...events: Parameters<typeof feedOf>[0]) => summarize(feedOf(events), since);

test("runs are counted by how they ended, with their rows", async () => {
  const { runs } = await summarizeAll(
    ["run.completed", { run: "r1", done: "5", skipped: "2", failed: "0" }],
    ["run.completed", { run: "r2", done: "3", failed: "1" }],
    ["run.aborted", { run: "r3", cancelled: "7" }],
    ["run.submitted", { run: "r3" }],
  );
  expect(runs).toMatchObject({ completed: 1, notDone: 1, aborted: 1, cancelled: 0 });
  expect(runs.rows).toEqual({ done: 8, skipped: 2, rejected: 0, failed: 1, unknown: 0, cancelled: 7 });
  expect(runs.events.map(({ fields }) => fields["run"])).toEqual(["r1", "r2", "r3"]);
});

test("a schedule that started more than a minute after its time was late; one that a person triggered was not", async () => {
  const due = new Date(atMs - 61_000).toISOString();
  const { schedules } = await summarizeAll(
    ["schedule.started", { schedule: "late", due }],
    ["schedule.started", { schedule: "by hand", due, by: "cli:anna" }],
    ["schedule.started", { schedule: "in time", due: new Date(atMs - 59_000).toISOString() }],
    ["schedule.completed", { schedule: "in time" }],
    ["schedule.skipped", { schedule: "busy" }],
    ["schedule.missed", { schedule: "away", times: "3" }],
    ["schedule.failed", { schedule: "broken" }],
  );
  expect(schedules).toMatchObject({ completed: 1, failed: 1, late: 1, skipped: 1, missed: 1, cancelled: 0 });
  expect(schedules.events.map(({ fields }) => fields["schedule"])).toEqual(["late", "busy", "away", "broken"]);
});

test("rotations, other problems, and changes that no run made", async () => {
  const summary = await summarizeAll(
    ["credential.rotated"],
    ["authkey.failed"],
    ["credential.unconfirmed"],
    ["webhook.stopped", { webhook: "ops" }],
    ["sim.changed", { by: "external" }],
    ["sim.changed", { by: "run" }],
    ["sim.gone", { by: "external" }],
  );
  expect(summary.rotations).toMatchObject({ rotated: 1, failed: 1, waiting: 1 });
  expect(summary.problems).toMatchObject({ count: 1, events: [{ type: "webhook.stopped" }] });
  expect(summary.externalChanges).toEqual({ added: 0, changed: 1, gone: 1, returned: 0 });
});

test("pages are read until the time, but no more than 200 of them: then the summary says that it is incomplete", async () => {
  const events = Array.from({ length: 60 }, () => ["run.cancelled"] as const);
  const whole = await summarize(feedOf(events, 25), since);
  expect(whole).toMatchObject({ since: "2026-11-25T05:00:00.000Z", complete: true, runs: { cancelled: 60 } });
  expect(whole.runs.events).toHaveLength(50);
  const endless = { newest: () => Promise.resolve({ events: [], nextCursor: "1-0" }) };
  expect(await summarize(endless, since)).toMatchObject({ complete: false });
});
