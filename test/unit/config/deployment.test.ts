import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { loadDeployment } from "#config/deployment.ts";
import type { Problem } from "#core/errors.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "simfleet-deployment-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

function load(name: string, text?: string) {
  const problems: Problem[] = [];
  const path = text === undefined ? name : join(folder, name);
  if (text !== undefined) writeFileSync(path, text);
  return { deployment: loadDeployment(path, problems), problems };
}

it("svc holds what the interface shows and no more", () => {
  expect(load("svc")).toEqual({
    deployment: { name: "svc", brand: "Svc", endpoints: {}, ttlField: undefined, speedClasses: [] },
    problems: [],
  });
});

it("soracom has addresses, the field of the lifetime and the speed classes", () => {
  const { deployment, problems } = load("soracom");
  expect(problems).toEqual([]);
  expect(deployment).toMatchObject({
    brand: "Soracom",
    endpoints: { global: "https://g.api.soracom.io", japan: "https://api.soracom.io" },
    ttlField: "tokenTimeoutSeconds",
  });
  expect(deployment.speedClasses).toHaveLength(8);
});

it("a file of one's own extends a built-in one", () => {
  const { deployment, problems } = load("own.yaml", "extends: soracom\nendpoints: { global: http://localhost:9000 }\n");
  expect(problems).toEqual([]);
  expect(deployment).toMatchObject({
    brand: "Soracom",
    endpoints: { global: "http://localhost:9000", japan: "https://api.soracom.io" },
  });
});

it("every fault of a deployment file is reported with its key", () => {
  const text = "extends: acme\nendpoints: { global: http://example.com }\nspeedclasses: []\n";
  const { problems } = load("faulty.yaml", text);
  expect(problems.map(({ where }) => where.replace(`${folder}/`, ""))).toEqual([
    "faulty.yaml: extends",
    "faulty.yaml: endpoints.global",
    "faulty.yaml",
  ]);
  expect(problems[2]?.message).toContain("speedclasses");
});
