/** The AuthKeys of a sub-user, listed and rotated by the Root user's profile. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { authKeys as feature } from "#jobs/authkeys/feature.ts";
import type { AuthKeyRotationReport } from "#jobs/authkeys/contract.ts";
import { until } from "../support/until.ts";
import { answerOf, ControlHarness } from "./support/control-harness.ts";
import { runCommand } from "./support/run-command.ts";

const robot = { userAuthKeyId: "keyId-robot", userAuthKey: "secret-robot" };
/** A document of which some fields are expected. */
type Document = Partial<AuthKeyRotationReport> & { readonly detail?: string };

/** A worker that may rotate the AuthKeys of a sub-user, whose sink is the file. */
async function setup() {
  const harness = await ControlHarness.open({
    more: [feature],
    sandbox: { ...robot, operations: "all", limits: { Operator: 600 } },
    env: { SIMFLEET_DEPLOYMENT: "soracom", SIMFLEET_BRAND: "Svc", SIMFLEET_COVERAGE: "g" },
    prepare: (folder) => {
      writeFileSync(join(folder, "seal-key"), Buffer.alloc(32, 9), { mode: 0o600 });
      return Promise.resolve(
        `seal: { keyFile: seal-key }\nauthKeys: { robots: { user: robot, sinks: [{ file: robot-key }], graceSeconds: 0 } }\n`,
      );
    },
  });
  onTestFinished(() => harness[Symbol.asyncDispose]());
  const ask = async (path: string, method = "GET") => {
    const [status, body] = await answerOf(harness.ask(`/v1/authkeys${path}`, { as: "admin", method }));
    return { status, body: body as Document };
  };
  return { harness, ask, file: join(harness.folder, "robot-key"), authKeys: harness.sandbox.accounts.authKeys };
}

describe("the AuthKeys of a sub-user", () => {
  test("are listed by the Root user's profile, in the API and by the command", async () => {
    const { harness, ask } = await setup();
    const { body } = await ask("?user=robot");
    expect(body).toMatchObject({ authKeys: [{ authKeyId: robot.userAuthKeyId, configured: null }], rotation: null });
    const shown = await runCommand(harness, ["authkeys", "list", "--user", "robot"], "remote");
    expect(shown.stdout).toContain(robot.userAuthKeyId);
    expect(shown.stdout).not.toContain(harness.sandbox.options.authKeyId);
  });

  test("are rotated: the sink has the new one, the old one is revoked, and the profile's own stays", async () => {
    const { ask, file, authKeys } = await setup();
    const begun = await ask("/rotate?user=robot", "POST");
    expect(begun).toMatchObject({ status: 202, body: { profile: "default", user: "robot" } });
    const report = async () => (await ask("/rotation?user=robot")).body;
    await until("the old AuthKey is revoked", async () => (await report()).state === "done");
    const written = JSON.parse(readFileSync(file, "utf8")) as { authKeyId: string; authKey: string };
    const keys = { oldAuthKeyId: robot.userAuthKeyId, newAuthKeyId: written.authKeyId };
    expect(await report()).toMatchObject(keys);
    expect(authKeys.list("robot").map(({ authKeyId }) => authKeyId)).toEqual([written.authKeyId]);
    expect(authKeys.all).toContainEqual(expect.objectContaining(written));
    expect(authKeys.list(undefined)).toHaveLength(1);
    expect((await ask("/rotation")).status).toBe(404);
  });

  test("of a user that does not exist, or has no entry, are not rotated, and nothing is changed", async () => {
    const { harness, ask, authKeys } = await setup();
    const none = await runCommand(harness, ["authkeys", "rotate", "--user", "nobody", "--yes"], "remote");
    expect([none.code, none.stderr]).toEqual([2, expect.stringContaining("no entry for the user nobody")]);
    const listed = await ask("?user=nobody");
    expect(listed.status).toBeGreaterThanOrEqual(400);
    expect(authKeys.list("robot")).toHaveLength(1);
  });

  test("that are two already need --replace, which takes the one that the user names", async () => {
    const { ask, authKeys } = await setup();
    const { authKeyId: other } = authKeys.create("robot");
    const refused = await ask("/rotate?user=robot", "POST");
    expect(refused.status).toBe(409);
    expect(refused.body.detail).toMatch(/already has two AuthKeys.*--replace/);
    const plan = await ask(`/rotation/plan?user=robot&replace=${other}`);
    expect(plan.body.oldAuthKeyId).toBe(robot.userAuthKeyId);
  });
});
