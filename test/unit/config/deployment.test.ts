import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { loadDeployment } from "#config/deployment.ts";
import type { Problem } from "#core/errors.ts";
import { textAt } from "#fleet/record-path.ts";

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
    deployment: {
      name: "svc",
      brand: "Svc",
      endpoints: {},
      ttlField: undefined,
      speedClasses: [],
      recordPaths: { imsi: ["imsi"] },
    },
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

it("a file that extends nothing builds on svc", () => {
  expect(load("plain.yaml", "brand: Acme\n").deployment).toMatchObject({
    brand: "Acme",
    recordPaths: { imsi: ["imsi"] },
  });
});

it("soracom keeps IMSI and subscription below the profiles of a SIM", () => {
  const { imsi, subscription } = load("soracom").deployment.recordPaths;
  const sim = {
    simId: "8942310022000012345",
    profiles: {
      one: { subscribers: {} },
      two: { primaryImsi: "001010000000001", subscribers: { "001010000000001": { subscription: "plan01s" } } },
    },
  };
  expect([imsi && textAt(sim, imsi), subscription && textAt(sim, subscription)]).toEqual([
    "001010000000001",
    "plan01s",
  ]);
});

it("a path in a record is overridden alone and taken away with null", () => {
  const { deployment } = load("records.yaml", "extends: soracom\nrecords: { imsi: sim.imsi, subscription: null }\n");
  expect(deployment.recordPaths).toEqual({ imsi: ["sim", "imsi"], subscription: undefined });
});

it.each(["", ".", "a..b", "a b", "a[0]", "$.imsi", "**", `${"a.".repeat(16)}a`])(
  "%j is no path in a record",
  (path) => {
    const { problems } = load("path.yaml", `records: { imsi: ${JSON.stringify(path)} }\n`);
    expect(problems).toMatchObject([{ where: expect.stringContaining("path.yaml: records.imsi") }]);
    expect(problems[0]?.message).toContain("joined by dots");
  },
);

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
