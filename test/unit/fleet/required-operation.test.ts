import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { loadDeployment } from "#config/deployment.ts";
import { ConfigError, type Problem } from "#core/errors.ts";
import { deploymentOperationIds } from "#fleet/deployment-operation.ts";
import { requireOperation, requireOperations } from "#fleet/required-operation.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const svc = loadDeployment("svc", []);

function refusalOf(ask: () => unknown): ConfigError {
  try {
    ask();
  } catch (thrown) {
    if (thrown instanceof ConfigError) return thrown;
    throw thrown;
  }
  throw new Error("nothing was refused");
}

it("a missing required operation is reported with its feature, platform definition, and the lines to add", () => {
  const error = refusalOf(() => requireOperation(svc, "listAuthKeys", "Rotating AuthKeys"));
  expect(error.code).toBe("CONFIG_INVALID");
  expect(error.problems[0]?.where).toBe("operations.listAuthKeys");
  expect(error.message).toContain(
    "Rotating AuthKeys needs this operation, and the platform definition svc does not have it.",
  );
  expect(error.message).toContain(`      extends: svc
      operations:
        listAuthKeys:
          method: GET
          path: /v1/operators/{operatorId}/auth_keys`);
});

it("all missing required operations are reported together without the existing ones", () => {
  const own = { name: "./own.yaml", operations: { listGroups: loadDeployment("soracom", []).operations.listGroups } };
  const error = refusalOf(() =>
    requireOperations(own, ["listGroups", "listCredentials", "deleteCredential"], "Cleaning up Credential Sets"),
  );
  expect(error.problems[0]?.where).toBe("operations.listCredentials, operations.deleteCredential");
  expect(error.message).toContain("Add to ./own.yaml");
  expect(error.message).not.toContain("extends:");
});

it("the suggested lines for missing operations are a valid platform definition", () => {
  const error = refusalOf(() => requireOperations(svc, deploymentOperationIds, "Everything"));
  const lines = error.message.slice(error.message.indexOf("      extends:")).replace(/^ {6}/gm, "");
  const file = join(temporaryFolder(), "own.yaml");
  writeFileSync(file, lines);
  const problems: Problem[] = [];
  const { operations } = loadDeployment(file, problems);
  expect(problems).toEqual([]);
  expect(Object.keys(operations).toSorted()).toEqual(deploymentOperationIds.toSorted());
});
