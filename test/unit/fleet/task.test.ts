import { expect, it } from "vitest";
import { isUnattended } from "#fleet/task.ts";

it.each([
  ["schedule:nightly", true],
  ["automation:new-sims", true],
  ["cli:anna", false],
  ["token:schedule:ci", false],
])("a request by %s is unattended: %s", (by, expected) => {
  expect(isUnattended(by)).toBe(expected);
});
