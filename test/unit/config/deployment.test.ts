import { setSpeedClass } from "#fleet/sim-operation/sim-operation.ts";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { deploymentSchema, loadDeployment } from "#config/deployment.ts";
import type { Problem } from "#core/errors.ts";
import { deploymentOperationIds, operationOptions } from "#fleet/deployment-operation.ts";
import { textAt } from "#fleet/sim/record-path.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const folder = temporaryFolder(afterAll);

function load(name: string, text?: string) {
  const problems: Problem[] = [];
  const path = text === undefined ? name : join(folder, name);
  if (text !== undefined) writeFileSync(path, text);
  return { deployment: loadDeployment(path, problems), problems };
}

/** A definition without problems. */
function loadValid(name: string, text?: string) {
  const { deployment, problems } = load(name, text);
  expect(problems).toEqual([]);
  return deployment;
}

it("the platform definition svc contains exactly what the interface documents", () => {
  const undocumented = { endpoints: {}, speedClasses: [], operations: {}, apiGroups: {}, downloads: { hosts: [] } };
  expect(loadValid("svc")).toEqual({
    ...undocumented,
    name: "svc",
    brand: "Svc",
    quota: { scope: "operator" },
    recordPaths: { imsi: ["imsi"] },
    credentialTypes: { psk: ["key"] },
    simOperations: new Map([["set-speed-class", setSpeedClass]]),
  });
});

it("the platform definition soracom has addresses, the lifetime field, and the speed classes", () => {
  const deployment = loadValid("soracom");
  expect(deployment).toMatchObject({
    brand: "Soracom",
    endpoints: { global: "https://g.api.soracom.io", japan: "https://api.soracom.io" },
    ttlField: "tokenTimeoutSeconds",
  });
  expect(deployment.speedClasses).toHaveLength(8);
});

it("a custom platform definition adds and removes patterns of API groups", () => {
  const text = 'extends: soracom\napiGroups: { "/v1/sims/*/events": Event, "/v1/groups/**": null, "/**": Other }\n';
  const deployment = loadValid("groups.yaml", text);
  expect(deployment.apiGroups).toMatchObject({ "/v1/sims/**": "Sim", "/v1/sims/*/events": "Event", "/**": "Other" });
  expect(Object.keys(deployment.apiGroups)).not.toContain("/v1/groups/**");
});

it("a platform definition says what is counted by address", () => {
  const text =
    "extends: soracom\noperations: { listGroups: { quota: { perIp: true } } }\n" +
    'apiGroups: { "/v1/devices/*/publish": { group: Device, quota: { perIp: true } } }\n';
  const deployment = loadValid("addresses.yaml", text);
  expect(deployment.operations.listGroups).toMatchObject({ group: "Group", quota: { perIp: true } });
  expect(deployment.apiGroups["/v1/devices/*/publish"]).toEqual({ group: "Device", quota: { perIp: true } });
  expect(load("wrong.yaml", "apiGroups: { /v1/x: { quota: { perIp: true } } }\n").problems).toEqual([
    { where: expect.stringContaining("apiGroups./v1/x"), message: expect.stringContaining("{ group: Device, quota") },
  ]);
});

it("a pattern of an API group must be a path", () => {
  for (const pattern of ["v1/sims", "/v1/../x", "/v1/**/x", "/v1/s*s", ""]) {
    const { problems } = load("groups.yaml", `apiGroups: { "${pattern}": Sim }\n`);
    expect(problems, pattern).toHaveLength(1);
  }
});

it("a platform definition without `extends` builds on svc", () => {
  expect(load("plain.yaml", "brand: Acme\n").deployment).toMatchObject({
    brand: "Acme",
    recordPaths: { imsi: ["imsi"] },
  });
});

it("the platform definition soracom finds IMSI and subscription in the profiles of a SIM", () => {
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

it("a record path can be overridden individually and removed with null", () => {
  const { deployment } = load("records.yaml", "extends: soracom\nrecords: { imsi: sim.imsi, subscription: null }\n");
  expect(deployment.recordPaths).toEqual({ imsi: ["sim", "imsi"], subscription: undefined });
});

it.each(["", ".", "a..b", "a b", "a[0]", "$.imsi", "**", `${"a.".repeat(16)}a`])(
  "%j is not a valid record path",
  (path) => {
    const { problems } = load("path.yaml", `records: { imsi: ${JSON.stringify(path)} }\n`);
    expect(problems).toMatchObject([{ where: expect.stringContaining("path.yaml: records.imsi") }]);
    expect(problems[0]?.message).toContain("joined by dots");
  },
);

it("the platform definition soracom has every operation and all Credential Set types", () => {
  const { operations, credentialTypes } = load("soracom").deployment;
  expect(Object.keys(operations).toSorted()).toEqual(deploymentOperationIds.toSorted());
  expect(operations.revokeAuthKey).toEqual({
    method: "DELETE",
    path: "/v1/operators/{operatorId}/auth_keys/{authKeyId}",
    userPath: "/v1/operators/{operatorId}/users/{userName}/auth_keys/{authKeyId}",
    statuses: [204],
    group: "Operator",
    userGroup: "User",
  });
  expect(credentialTypes).toMatchObject({ psk: ["key"], x509: ["key", "cert", "ca"] });
});

it("single keys of an operation can be overridden, and null removes a key, a type, or an operation", () => {
  const text = `extends: soracom
auth: { ttlField: null }
credentialTypes: { psk: null, acme: [token] }
operations:
  listCredentials: { path: /v1/acme/credentials }
  listAuthKeys: { userPath: null, userGroup: null }
  renewToken: null`;
  const { operations, credentialTypes, ttlField } = loadValid("changes.yaml", text);
  expect([ttlField, credentialTypes["psk"], credentialTypes["acme"]]).toEqual([undefined, undefined, ["token"]]);
  const description = { method: "GET", path: "/v1/acme/credentials", statuses: [200], group: "Credential" };
  expect(operations.listCredentials).toEqual(description);
  expect(operations.listAuthKeys).not.toHaveProperty("userPath");
  expect(operations).not.toHaveProperty("renewToken");
});

it("the example in docs/reference/platform-definitions.md has every key and no errors", () => {
  const example = /```yaml\n([^]*?)```/.exec(readFileSync("docs/reference/platform-definitions.md", "utf8"))?.[1] ?? "";
  const deployment = loadValid("deployment-acme.yaml", example);
  expect(Object.keys(deployment.operations).toSorted()).toEqual(deploymentOperationIds.toSorted());
  for (const id of deploymentOperationIds) {
    const keys = ["method", "path", "statuses", "group", ...operationOptions[id].extras];
    expect(Object.keys(deployment.operations[id] ?? {}).toSorted(), id).toEqual(keys.toSorted());
  }
  expect(Object.keys(deploymentSchema.shape).filter((key) => !new RegExp(`^${key}:`, "m").test(example))).toEqual([]);
});

it("the tables in docs/reference/platform-definitions.md list the parameters of each operation", () => {
  const page = readFileSync("docs/reference/platform-definitions.md", "utf8");
  const cells = (names: readonly string[]) => names.join(", ");
  for (const id of deploymentOperationIds) {
    const { needs, knows, extras } = operationOptions[id];
    const row = page.split("\n").find((line) => line.startsWith(`| \`${id}\``));
    const reported = row
      ?.split("|")
      .slice(2, 5)
      .map((cell) => cell.replace(/[\s`{}]/g, "").replaceAll(",", ", "));
    expect(reported, id).toEqual([cells(needs), cells(knows), cells(extras)]);
  }
});

const faults: [line: string, key: string, words: string][] = [
  ["path: /v2/credentials/{credentialsId}", "path", "must start with /v1/"],
  ["path: v1/credentials/{credentialsId}", "path", "must start with /v1/"],
  ["path: /v1/../{credentialsId}", "path", "must start with /v1/"],
  ["path: /v1/credentials/{credentialsId}?force=1", "path", "must start with /v1/"],
  ["path: /v1/credentials/{credentialsId}/", "path", "must start with /v1/"],
  ["path: /v1/credentials/set-{credentialsId}", "path", "must start with /v1/"],
  ["path: /v1/credentials/%2e%2e/{credentialsId}", "path", "must start with /v1/"],
  ["path: /v1/credentials", "path", "lacks {credentialsId}"],
  ["path: /v1/{simId}/{credentialsId}", "path", "has {simId}, but updateCredential knows {credentialsId}"],
  ["path: /v1/{}/{credentialsId}", "path", "has {}, but"],
  ["path: /v1/{credentialsId}/{credentialsId}", "path", "has {credentialsId} twice"],
  ["method: GET", "method", "must be POST or PUT or DELETE"],
  ["statuses: []", "statuses", "success"],
  ["statuses: [404]", "statuses", "299"],
  ["statuses: 200", "statuses", "must be a list such as [200]"],
  ["group: a b", "group", "must be the name of a group"],
  ["userPath: /v1/x", "userPath", "is nothing that updateCredential has"],
  ["pth: /v1/x", "pth", "There is no such key. Did you mean path?"],
  ["group: null", "group", "is missing; it is the name of a group"],
];

it.each(faults)("an operation with %s is reported at %s", (line, key, words) => {
  const text = `extends: soracom\noperations:\n  updateCredential:\n    ${line}\n`;
  const { problems } = load("operation.yaml", text);
  expect(problems.map(({ where }) => where)).toEqual([
    `${join(folder, "operation.yaml")}: operations.updateCredential.${key}`,
  ]);
  expect(problems[0]?.message).toContain(words);
});

it("an operation that reads one SIM must name it in its path", () => {
  const { problems } = load("nameless.yaml", "extends: soracom\noperations:\n  getSim:\n    path: /v1/sims\n");
  expect(problems.map(({ message }) => message)).toEqual([expect.stringContaining("lacks {simId} or {imsi}")]);
});

it("a new operation must be described completely", () => {
  const { problems } = load("half.yaml", "operations:\n  listGroups: { path: /v1/groups, method: GET }\n");
  expect(problems.map(({ where }) => where.split(": ")[1])).toEqual([
    "operations.listGroups.statuses",
    "operations.listGroups.group",
  ]);
});

it("every error in a platform definition is reported with its key, and a wrong key with a suggestion", () => {
  const text = `extends: acme
endpoints: { global: http://example.com }
quota: { scope: user }
speedclasses: []
operations: { listGroup: {} }`;
  const { problems } = load("faulty.yaml", text);
  expect(problems.map(({ where, message }) => [where.replace(`${folder}/`, ""), message])).toEqual([
    ["faulty.yaml: extends", 'must be `svc` or `soracom`; it is "acme".'],
    ["faulty.yaml: endpoints.global", expect.stringContaining("https")],
    ["faulty.yaml: quota.scope", 'must be `operator` or `principal`; it is "user".'],
    ["faulty.yaml: operations.listGroup", "There is no such key. Did you mean listGroups?"],
    ["faulty.yaml: speedclasses", "There is no such key. Did you mean speedClasses?"],
  ]);
});
