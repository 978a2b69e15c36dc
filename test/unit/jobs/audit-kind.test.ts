/** The kinds by which the audit log is filtered. */
import { expect, test } from "vitest";
import { features } from "#features.ts";

test("every feature with a command that changes something declares a kind for the audit log", () => {
  const changing = features.filter(({ effects = {} }) => Object.values(effects).some((effect) => effect !== "reads"));
  expect(changing.length).toBeGreaterThan(6);
  expect(changing.filter(({ audit }) => audit === undefined)).toEqual([]);
});
