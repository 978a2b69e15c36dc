import { exportUsage, getExportedFile } from "#jobs/usage/export.ts";
import fc from "fast-check";
import { getSim, getSimStatusHistory } from "#api/operations/described.ts";
import { describe, expect, it } from "vitest";
import { createAuthKey, listAuthKeys, revokeAuthKey } from "#api/operations/auth-keys.ts";
import { createCredential, deleteCredential, listCredentials, updateCredential } from "#api/operations/credentials.ts";
import { listGroups, putGroupConfiguration } from "#api/operations/groups.ts";
import { bucketOf, type Operation, targetOf } from "#api/operations/operation.ts";
import { renewToken } from "#api/auth/pair.ts";
import { loadDeployment } from "#config/deployment.ts";
import { ConfigError, SimfleetError } from "#core/errors.ts";
import { type DeploymentOperationId, deploymentOperationIds, operationOptions } from "#fleet/deployment-operation.ts";
import { requireOperation } from "#fleet/required-operation.ts";
import { seeds } from "../../support/long.ts";
import { updateSimSpeedClass } from "../../support/speed-class.ts";
import { anyId, hostileIds } from "./hostile-ids.ts";

const ids = seeds(300, 10_000);
const soracom = loadDeployment("soracom", []);

function of(id: DeploymentOperationId) {
  return requireOperation(soracom, id, "This test");
}

const root = { operatorId: "OP0012345678" };
const user = { operatorId: "OP0012345678", userName: "fleet.worker@plant" };
const id = "[A-Za-z0-9][A-Za-z0-9_-]{0,127}";
const name = "[A-Za-z0-9_][A-Za-z0-9._@-]{0,127}";

/** Each operation with every placeholder filled from two made-up texts, and what its paths may look like. */
const calls: [string, (a: string, b: string) => { path: string }, RegExp][] = [
  calling(
    "updateSimSpeedClass",
    (key) => [updateSimSpeedClass, { key, inputs: ["s1.fast"] }],
    /^\/v1\/sims\/[A-Za-z0-9_-]{1,64}\/update_speed_class$/,
  ),
  calling(
    "createCredential",
    (a) => [createCredential, { credentialsId: a, type: "psk", credentials: {} }],
    /^\/v1\/credentials\/[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/,
  ),
  calling(
    "updateCredential",
    (a) => [updateCredential(of("updateCredential")), { credentialsId: a, type: "psk", credentials: {} }],
    /^\/v1\/credentials\/[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/,
  ),
  calling(
    "deleteCredential",
    (a) => [deleteCredential(of("deleteCredential")), { credentialsId: a }],
    /^\/v1\/credentials\/[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/,
  ),
  calling(
    "listAuthKeys",
    (a) => [listAuthKeys(of("listAuthKeys"), { operatorId: a }), undefined],
    new RegExp(`^/v1/operators/${id}/auth_keys$`),
  ),
  calling(
    "listAuthKeys of a user",
    (a, b) => [listAuthKeys(of("listAuthKeys"), { operatorId: a, userName: b }), undefined],
    new RegExp(`^/v1/operators/${id}/users/${name}/auth_keys$`),
  ),
  calling(
    "createAuthKey",
    (a, b) => [createAuthKey(of("createAuthKey"), { operatorId: a, userName: b }), undefined],
    new RegExp(`^/v1/operators/${id}/users/${name}/auth_keys$`),
  ),
  calling(
    "revokeAuthKey",
    (a, b) => [revokeAuthKey(of("revokeAuthKey"), { operatorId: a }), { authKeyId: b }],
    new RegExp(`^/v1/operators/${id}/auth_keys/${id}$`),
  ),
  calling(
    "revokeAuthKey of a user",
    (a, b) => [revokeAuthKey(of("revokeAuthKey"), { operatorId: "OP1", userName: a }), { authKeyId: b }],
    new RegExp(`^/v1/operators/OP1/users/${name}/auth_keys/${id}$`),
  ),
  calling(
    "putGroupConfiguration",
    (a, b) => [
      putGroupConfiguration(of("putGroupConfiguration"), root),
      { groupId: a, namespace: b, entries: { enabled: true } },
    ],
    new RegExp(`^/v1/groups/${id}/configuration/${id}$`),
  ),
  calling(
    "renewToken",
    (a) => [renewToken(of("renewToken")), { operatorId: a }],
    new RegExp(`^/v1/operators/${id}/token$`),
  ),
];

function calling<I, O>(
  label: string,
  make: (a: string, b: string) => [Operation<I, O>, I],
  shape: RegExp,
): [string, (a: string, b: string) => { path: string }, RegExp] {
  return [label, (a, b) => targetOf(...make(a, b)), shape];
}

function pathOf(call: () => { path: string }): string | undefined {
  try {
    return call().path;
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(SimfleetError);
    expect((thrown as SimfleetError).code).toBe("PLATFORM_REJECTED");
    return undefined;
  }
}

// Shows S5.
describe("paths of operations", () => {
  it(`the path of an operation never leaves its template for ${ids} random pairs of ids`, () => {
    fc.assert(
      fc.property(anyId, anyId, (a, b) => {
        for (const [label, call, shape] of calls) {
          const path = pathOf(() => call(a, b));
          if (path === undefined) continue;
          expect(path, label).toMatch(shape);
          expect(new URL(path, "https://h.example").href).toBe(`https://h.example${path}`);
        }
      }),
      { numRuns: ids },
    );
  });

  it.each(calls)("the path of %s rejects each hostile id in each position", (_label, call, shape) => {
    expect(pathOf(() => call("good-1", "good-2"))).toMatch(shape);
    for (const trick of hostileIds) {
      expect(
        pathOf(() => call(trick, "good")),
        trick,
      ).toBeUndefined();
      expect(pathOf(() => call("good", trick)) ?? "", trick).not.toContain(trick === "" ? "//" : `/${trick}`);
    }
  });

  it("the path for a sub-user has its own quota and operation id", () => {
    const ofRoot = listAuthKeys(of("listAuthKeys"), root);
    const ofUser = listAuthKeys(of("listAuthKeys"), user);
    expect([ofRoot.id, bucketOf(ofRoot, "a")]).toEqual(["listAuthKeys", "a.Operator"]);
    expect([ofUser.id, bucketOf(ofUser, "a")]).toEqual(["listAuthKeysOfUser", "a.User"]);
    expect(targetOf(ofUser, undefined).path).toBe("/v1/operators/OP0012345678/users/fleet.worker@plant/auth_keys");
  });

  it("an operation of a sub-user fails with an explanation when the platform definition has no path for it", () => {
    const { userPath: _, ...description } = of("revokeAuthKey");
    const refusal = expect(() => revokeAuthKey(description, user));
    refusal.toThrow(ConfigError);
    refusal.toThrow(
      /operations\.revokeAuthKey\.userPath.*sub-user fleet\.worker@plant.*docs\/reference\/platform-definitions\.md/s,
    );
  });
});

/** What makes each operation of this description. */
const makersOf = (description: ReturnType<typeof of>) => ({
  listCredentials: () => listCredentials(description),
  updateCredential: () => updateCredential(description),
  deleteCredential: () => deleteCredential(description),
  listAuthKeys: () => listAuthKeys(description, user),
  createAuthKey: () => createAuthKey(description, user),
  revokeAuthKey: () => revokeAuthKey(description, user),
  listGroups: () => listGroups(description, root),
  getSim: () => getSim(description),
  getSimStatusHistory: () => getSimStatusHistory(description),
  putGroupConfiguration: () => putGroupConfiguration(description, root),
  exportUsage: () => exportUsage(description),
  getExportedFile: () => getExportedFile(description),
  renewToken: () => renewToken(description),
});

describe("operations of platform definitions", () => {
  it("every path that a platform definition may contain yields an operation", () => {
    for (const each of deploymentOperationIds) {
      const { needs, knows } = operationOptions[each];
      const path = ["/v1", ...[...needs, ...knows].map((mark) => `{${mark}}`)].join("/");
      const { [each]: make } = makersOf({ ...of(each), path, userPath: `${path}/{userName}` });
      expect(make, each).not.toThrow();
    }
  });
});
