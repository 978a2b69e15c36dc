/** The kinds by which the audit log is filtered. */
import { expect, test } from "vitest";
import { features } from "#features.ts";
import { auditKindOf } from "#jobs/audit/kind.ts";

test.each([
  ["POST /v1/runs/:runId/cancel", "runs"],
  ["POST /v1/plans", "runs"],
  ["simfleet apply", "runs"],
  ["DELETE /v1/freeze", "freezes"],
  ["POST /v1/rotations/:name/rotate", "credentials"],
  ["POST /v1/hooks/:schedule", "schedules"],
  ["PUT /queues/*", "other"],
  ["simfleet constructor", "other"],
])("the audited action %s is of the kind %s", (action, kind) => {
  expect(auditKindOf(action)).toBe(kind);
});

test("every command of a feature that changes something has a kind of its own", () => {
  const effects = features.flatMap((feature) => Object.entries(feature.effects ?? {}));
  const changing = effects.filter(([, effect]) => effect !== "reads").map(([name]) => name);
  expect(changing.length).toBeGreaterThan(20);
  expect(changing.filter((name) => auditKindOf(`simfleet ${name}`) === "other")).toEqual([]);
});
