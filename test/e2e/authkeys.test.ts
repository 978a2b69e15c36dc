/** AuthKeys in real processes: two of them, files that change, and a rotation during a run. */
import { rename } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import type { AuthKeyRotationReport } from "#jobs/authkeys/contract.ts";
import { isLong } from "../support/long.ts";
import { until } from "../support/until.ts";
import { dumpOf, found, textsIn, titleOf } from "./support/canary.ts";
import { CliHarness, type CliHarnessOptions, noAuthKey } from "./support/cli-harness.ts";

vi.setConfig({ testTimeout: 600_000 });

/** A harness whose AuthKey lies in a file that is also the sink of its rotation, and the secrets of its AuthKeys. */
async function setup({ env, ...options }: CliHarnessOptions = {}): Promise<CliHarness & { secrets: string[] }> {
  const harness = await CliHarness.open({
    isSoracom: true,
    config: "authKeys: { default: { sinks: [{ file: auth-key }], graceSeconds: 1 } }\nseal: { keyFile: seal-key }\n",
    ...options,
    env: { ...noAuthKey, SIMFLEET_AUTH_KEY_FILE: "auth-key", ...env },
  });
  const { authKeyId, authKey, userAuthKeyId, userAuthKey } = harness.sandbox.options;
  const first =
    userAuthKeyId === undefined ? { authKeyId, authKey } : { authKeyId: userAuthKeyId, authKey: userAuthKey };
  await put(harness, first);
  const secrets: string[] = [String(first.authKey)];
  const { authKeys } = harness.sandbox.accounts;
  const create = authKeys.create.bind(authKeys);
  authKeys.create = (userName) => {
    const made = create(userName);
    secrets.push(made.authKey);
    return made;
  };
  return Object.assign(harness, { secrets });
}

async function put(harness: CliHarness, key: object): Promise<void> {
  await harness.write("auth-key.new", JSON.stringify(key));
  await privately(harness, "auth-key.new");
  await rename(join(harness.folder, "auth-key.new"), join(harness.folder, "auth-key"));
}

function privately(harness: CliHarness, name: string): Promise<unknown> {
  return harness.startProgram("/bin/chmod", ["600", name]).ended;
}

async function events(harness: CliHarness): Promise<string> {
  const redis = await harness.redis();
  return JSON.stringify(await redis.xrange("{simfleet}:events", "-", "+"));
}

/** So many that a rotation on a slow machine ends before them, at ten a second; what is left is then sent at once. */
const rows = 900;

const users: readonly [string, CliHarnessOptions][] = [
  ["the Root user where revoking ends the pairs as well", { revokeKillsPairs: true }],
  ["the Root user", {}],
  ["a sub-user", { userAuthKeyId: "keyId-robot", userAuthKey: "secret-robot-canary" }],
];

/** Counts the changes before an AuthKey is revoked: all of them if none is. */
function watchRevocation(harness: CliHarness) {
  const revocation = { changes: rows };
  const { accounts } = harness.sandbox;
  const revoke = accounts.revoke.bind(accounts);
  accounts.revoke = (userName, authKeyId) => {
    revocation.changes = harness.changes;
    revoke(userName, authKeyId);
  };
  return revocation;
}

/** A rotation during a run. `traces`: where secrets could be seen while the new one lay sealed */
async function setupRotation(options: CliHarnessOptions) {
  const harness = await setup({
    authKey: "secret-canary-of-the-old-key",
    ...options,
    isProcessPerCommand: true, // so that no command knows, and hides, what another one has as a secret
    limits: { Sim: 20 },
    sims: rows,
    rows,
    env: { SIMFLEET_LOG_LEVEL: "trace" },
  });
  const revocation = watchRevocation(harness);
  const redis = await harness.redis();
  const worker = await harness.worker();
  const applied = await harness.run(["apply", "fleet.csv", "--yes", "--detach"]);
  await harness.untilChanges(40);
  const rotate = harness.start(["authkeys", "rotate", "--yes", "--json"]);
  await until("the rotation has a process", async () => (await titleOf(rotate)).includes("authkeys"));
  const titles = [await titleOf(rotate), await titleOf(worker)];
  const sealed = (): Promise<string | null> => redis.hget("{simfleet}:authkeys:default:rotation", "sealed");
  await until("the new secret lies sealed", async () => (await sealed()) !== null);
  const traces = [...titles, await dumpOf(redis)];
  const rotated = await rotate.ended;
  expect(rotated.code).toBe(0);
  const runId = applied.stdout.trim();
  return Object.assign(harness, { revocation, runId, said: [applied, rotated], traces, stop: () => worker.end() });
}

function authKeyIdsOf({ sandbox: { accounts, options } }: CliHarness): string[] {
  const userName = options.userAuthKeyId === undefined ? undefined : options.userName;
  return accounts.authKeys.list(userName).map(({ authKeyId }) => authKeyId);
}

/** Lets what is left of a run be sent at once, and waits until it has ended. */
function hurry(harness: CliHarness, runId: string) {
  harness.sandbox.throttle.changeLimit({ group: "Sim", limit: 2_000, afterMs: 0 });
  return harness.json(["runs", "watch", runId]);
}

describe.runIf(isLong).concurrent("AuthKey rotations during a run", () => {
  test.each(users)("a run completes every row while the AuthKey of %s is rotated", async (_, options) => {
    await using harness = await setupRotation(options);
    const report = JSON.parse(harness.said[1]?.stdout ?? "") as AuthKeyRotationReport;
    expect(report.state).toBe("done");
    // Under the run, not after it.
    expect(harness.revocation.changes).toBeLessThan(rows);
    expect(authKeyIdsOf(harness)).toEqual([report.newAuthKeyId]);
    const counts = { total: rows, done: rows, failed: 0 };
    expect(await hurry(harness, harness.runId)).toMatchObject({ code: 0, document: { counts } });
    expect((await harness.run(["authkeys", "list"])).stdout).toContain(report.newAuthKeyId);
    expect((await harness.stop()).stderr).not.toMatch(/"level":"error"/);
    expect(await events(harness)).toContain("authkey.rotated");
  });

  test.each(users)("a rotation of the AuthKey of %s during a run leaves its secrets nowhere", async (_, options) => {
    await using harness = await setupRotation(options);
    const { runId, said, secrets } = harness;
    said.push(await hurry(harness, runId), await harness.run(["authkeys", "list"]));
    said.push(await harness.run(["runs", "results", runId, "--out", "results.csv"]), await harness.stop());
    expect(secrets).toHaveLength(2);
    expect(found(said.map(({ stdout, stderr }) => stdout + stderr).join("\n"), secrets)).toEqual([]);
    expect(found([...harness.traces, await dumpOf(await harness.redis())].join("\n"), secrets)).toEqual([]);
    // The file that is meant to hold it is the only one.
    await harness.write("auth-key", "");
    expect(found(await textsIn(harness.folder), secrets)).toEqual([]);
  });
});

test.runIf(isLong).concurrent("a rotation ends with the date of the revocation, for which --wait waits", async () => {
  await using harness = await setup();
  const config = (await harness.read("simfleet.yaml")).replace("graceSeconds: 1", "graceSeconds: 86400");
  await harness.write("simfleet.yaml", config);
  const rotated = await harness.run(["authkeys", "rotate", "--yes"]);
  expect(rotated.code).toBe(0);
  expect(rotated.stdout).toMatch(
    /^keyId-\w+ is in use\. keyId-sandbox will be revoked at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d[+-]\d\d:\d\d if it stays unused until then\.\n$/,
  );
  expect(rotated.stderr).toContain("or revoke later with: simfleet authkeys rotate --wait\n");
  expect(harness.sandbox.accounts.authKeys.list(undefined)).toHaveLength(2);
  await harness.write("simfleet.yaml", config.replace("graceSeconds: 86400", "graceSeconds: 1"));
  const waited = await harness.json<AuthKeyRotationReport>(["authkeys", "rotate", "--wait"]);
  expect(waited).toMatchObject({ code: 0, document: { state: "done" } });
});

test.concurrent("a worker reloads a changed secret file and keeps the old secret when the file is invalid", async () => {
  await using harness = await setup({ rows: 3 });
  const worker = await harness.worker();
  await put(harness, { authKeyId: "keyId-half" });
  await worker.said(/a secret file has changed but cannot be loaded/);
  const { authKeys } = harness.sandbox.accounts;
  const next = authKeys.create(undefined);
  await put(harness, next);
  await worker.said(/a secret file has changed: authenticating with its new content/);
  const used = () => authKeys.list(undefined).filter(({ lastUsedDateTime }) => lastUsedDateTime !== undefined);
  await until("the new AuthKey was used", () => used().some(({ authKeyId }) => authKeyId === next.authKeyId));
  harness.sandbox.accounts.revoke(undefined, "keyId-sandbox");
  expect(await harness.json(["apply", "fleet.csv", "--yes"])).toMatchObject({ document: { counts: { done: 3 } } });
  expect(await events(harness)).toMatch(/secret\.kept.*secret\.reloaded/);
});
