/** Rotations where the deployment is not one of those that come along: what `svc` lacks, and a file of one's own. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { isLong } from "../support/long.ts";
import { CliHarness } from "./support/cli-harness.ts";

const soracom = new URL("../../config/deployments/soracom.yaml", import.meta.url);

/** What soracom's file says of operations, to be put into another. */
function operations(): string {
  const text = readFileSync(soracom, "utf8");
  return text.slice(text.indexOf("\noperations:"));
}

async function open(deployment: string): Promise<CliHarness> {
  const harness = await CliHarness.open({
    operations: "all",
    limits: { Credential: 1_000, Group: 1_000, Operator: 1_000 },
    env: { SIMFLEET_DEPLOYMENT: deployment, SIMFLEET_CONFIG: "simfleet.yaml", SIMFLEET_AUTH_KEY_FILE: "auth-key" },
  });
  const { authKeyId, authKey } = harness.sandbox.options;
  const inFolder = (name: string): string => join(harness.folder, name);
  mkdirSync(inFolder("out"));
  writeFileSync(inFolder("seal-key"), Buffer.alloc(32, 7), { mode: 0o600 });
  writeFileSync(inFolder("auth-key"), JSON.stringify({ authKeyId, authKey }), { mode: 0o600 });
  writeFileSync(inFolder("own.yaml"), `extends: svc\n${operations()}`);
  await harness.write(
    "simfleet.yaml",
    `seal: { keyFile: seal-key }
authKeys: { default: { sinks: [ { file: auth-key } ], graceSeconds: 0 } }
rotations:
  mqtt: { type: psk, generate: { field: key, bytes: 32, encoding: base64url }, graceSeconds: 0, sinks: [ { file: out/mqtt } ] }
`,
  );
  await harness.redis();
  return harness;
}

const noKeyInEnvironment = { SIMFLEET_AUTH_KEY_ID: "", SIMFLEET_AUTH_KEY: "" };

describe.concurrent("rotations with custom deployments", () => {
  test.runIf(isLong)("both kinds of rotation complete with a file that adds the operations to svc", async () => {
    await using harness = await open("own.yaml");
    const { state, accounts, options } = harness.sandbox;
    state.credentials.create("mqtt", { type: "psk", credentials: { key: "before" } });
    const rotated = await harness.run(["credentials", "rotate", "mqtt", "--yes"], noKeyInEnvironment);
    expect(rotated).toMatchObject({ code: 0, stdout: expect.stringContaining("mqtt was rotated") });
    const [set, ...others] = state.credentials.all;
    expect(others).toEqual([]);
    expect(set?.credentialsId).toMatch(/^mqtt-\d{8}T\d{4}Z$/);
    expect(state.credentials.secretOf(set?.credentialsId ?? "")?.key).toBe(await harness.read("out/mqtt"));

    const keys = await harness.run(["authkeys", "rotate", "--yes"], noKeyInEnvironment);
    expect(keys).toMatchObject({ code: 0, stdout: expect.stringContaining("is revoked") });
    const [key, ...more] = accounts.authKeys.list(undefined);
    expect(more).toEqual([]);
    expect(key?.authKeyId).not.toBe(options.authKeyId);
    expect(JSON.parse(await harness.read("auth-key"))).toMatchObject({ authKeyId: key?.authKeyId });
  });

  test("both kinds of rotation report under svc how to add the missing operations and do nothing", async () => {
    await using harness = await open("svc");
    const rotated = await harness.run(["credentials", "rotate", "mqtt", "--yes"], noKeyInEnvironment);
    const keys = await harness.run(["authkeys", "rotate", "--yes"], noKeyInEnvironment);
    expect([rotated.code, keys.code]).toEqual([2, 2]);
    expect(rotated.stderr).toMatch(/listCredentials[^]*extends: svc/);
    expect(keys.stderr).toMatch(/createAuthKey[^]*extends: svc/);
    expect(harness.sandbox.state.credentials.all).toEqual([]);
    expect(harness.sandbox.accounts.authKeys.list(undefined)).toHaveLength(1);
  });
});
