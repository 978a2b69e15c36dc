import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { load } from "js-yaml";
import { locate } from "#sandbox/exchange.ts";
import { namedSimOperations } from "#sandbox/sims/sim-operations.ts";

const file = load(readFileSync("config/deployments/soracom.yaml", "utf8")) as {
  simOperations: Readonly<Record<string, { readonly method: string; readonly path: string; readonly group: string }>>;
};
const operations = Object.entries(file.simOperations);

test("the platform definition soracom describes every write of the sandbox", () => {
  expect(operations.length).toBeGreaterThanOrEqual(20);
  const paths = operations.map(([, { method, path }]) => `${method} ${path.replaceAll(/\{\w+\}/g, "*").slice(1)}`);
  const writes = namedSimOperations.filter(({ method }) => method !== "GET");
  expect(new Set(paths)).toEqual(new Set(writes.map(({ method, path }) => `${method} ${path}`)));
});

describe.each(operations)("%s of the platform definition soracom", (_, described) => {
  test("an operation of the platform definition exists in the sandbox with the same group", () => {
    const played = locate("all", described.path)?.byMethod.get(described.method);
    expect(played?.group).toBe(described.group);
  });
});
