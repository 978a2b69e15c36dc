/** The AuthKeys of a sub-user, listed and rotated by the Root user's profile. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { authKeys as feature } from "#jobs/authkeys/feature.ts";
import type { AuthKeyRotationReport } from "#jobs/authkeys/contract.ts";
import { until } from "../support/until.ts";
import { ControlHarness } from "./support/control-harness.ts";
import { runCommand } from "./support/run-command.ts";

const robot = { userAuthKeyId: "keyId-robot", userAuthKey: "secret-robot" };
let harness: ControlHarness;
let file: string;

beforeEach(async () => {
  harness = await ControlHarness.open({
    more: [feature],
    sandbox: { ...robot, operations: "all", limits: { Operator: 600 } },
    env: { SIMFLEET_DEPLOYMENT: "soracom", SIMFLEET_BRAND: "Svc", SIMFLEET_COVERAGE: "g" },
    prepare: (folder) => {
      file = join(folder, "robot-key");
      writeFileSync(join(folder, "seal-key"), Buffer.alloc(32, 9), { mode: 0o600 });
      return Promise.resolve(
        `seal: { keyFile: seal-key }\nauthKeys: { robots: { user: robot, sinks: [{ file: robot-key }], graceSeconds: 0 } }\n`,
      );
    },
  });
});
afterEach(() => harness[Symbol.asyncDispose]());

/** A document of which some fields are expected. */
type Document = Partial<AuthKeyRotationReport> & { readonly detail?: string };

async function ask(path: string, method = "GET"): Promise<{ status: number; body: Document }> {
  const answer = await harness.ask(`/v1/authkeys${path}`, { as: "admin", method });
  return { status: answer.status, body: (await answer.json()) as Document };
}

describe("the AuthKeys of a sub-user", () => {
  test("are listed by the Root user's profile, in the API and by the command", async () => {
    const { body } = await ask("?user=robot");
    expect(body).toMatchObject({ authKeys: [{ authKeyId: robot.userAuthKeyId, configured: null }], rotation: null });
    const shown = await runCommand(harness, ["authkeys", "list", "--user", "robot"], "remote");
    expect(shown.stdout).toContain(robot.userAuthKeyId);
    expect(shown.stdout).not.toContain(harness.sandbox.options.authKeyId);
  });

  test("are rotated: the sink has the new one, the old one is revoked, and the profile's own stays", async () => {
    const begun = await ask("/rotate?user=robot", "POST");
    expect(begun).toMatchObject({ status: 202, body: { profile: "default", user: "robot" } });
    const report = async () => (await ask("/rotation?user=robot")).body;
    await until("the old AuthKey is revoked", async () => (await report()).state === "done");
    const written = JSON.parse(readFileSync(file, "utf8")) as { authKeyId: string; authKey: string };
    const keys = { oldAuthKeyId: robot.userAuthKeyId, newAuthKeyId: written.authKeyId };
    expect(await report()).toMatchObject(keys);
    const { authKeys } = harness.sandbox.accounts;
    expect(authKeys.list("robot").map(({ authKeyId }) => authKeyId)).toEqual([written.authKeyId]);
    expect(authKeys.all).toContainEqual(expect.objectContaining(written));
    expect(authKeys.list(undefined)).toHaveLength(1);
    expect((await ask("/rotation")).status).toBe(404);
  });

  test("of a user that does not exist, or has no entry, are not rotated, and nothing is changed", async () => {
    const none = await runCommand(harness, ["authkeys", "rotate", "--user", "nobody", "--yes"], "remote");
    expect([none.code, none.stderr]).toEqual([2, expect.stringContaining("no entry for the user nobody")]);
    const listed = await ask("?user=nobody");
    expect(listed.status).toBeGreaterThanOrEqual(400);
    expect(harness.sandbox.accounts.authKeys.list("robot")).toHaveLength(1);
  });

  test("that are two already need --replace, which takes the one that the user names", async () => {
    const { authKeyId: other } = harness.sandbox.accounts.authKeys.create("robot");
    const refused = await ask("/rotate?user=robot", "POST");
    expect(refused.status).toBe(409);
    expect(refused.body.detail).toMatch(/already has two AuthKeys.*--replace/);
    const plan = await ask(`/rotation/plan?user=robot&replace=${other}`);
    expect(plan.body.oldAuthKeyId).toBe(robot.userAuthKeyId);
  });
});
