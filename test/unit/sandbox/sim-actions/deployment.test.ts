import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { load } from "js-yaml";
import { namedSimOperations } from "#sandbox/sims/sim-operations.ts";

const file = load(readFileSync("config/deployments/soracom.yaml", "utf8")) as {
  simOperations: Readonly<Record<string, { readonly method: string; readonly path: string; readonly group: string }>>;
};

test("the platform definition soracom describes every write of the sandbox, with its group", () => {
  const described = Object.values(file.simOperations).map(
    ({ method, path, group }) => `${method} ${path.replaceAll(/\{\w+\}/g, "*").slice(1)} ${group}`,
  );
  const writes = namedSimOperations.filter(({ method }) => method !== "GET");
  expect(new Set(described)).toEqual(new Set(writes.map(({ method, path, group }) => `${method} ${path} ${group}`)));
});
