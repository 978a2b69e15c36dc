/** AuthKeys in real processes: two of them, files that change, and a rotation under a run that goes on. */
import { rename } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { until } from "../support/until.ts";
import { dumpOf, found, textsIn, titleOf } from "./support/canary.ts";
import { Walk, type WalkOptions } from "./support/walk.ts";

vi.setConfig({ testTimeout: 180_000 });

const deployed = { SIMFLEET_DEPLOYMENT: "soracom", SIMFLEET_BRAND: "Svc", SIMFLEET_COVERAGE: "g" };
const noKey = { SIMFLEET_AUTH_KEY_ID: "", SIMFLEET_AUTH_KEY: "" };

interface RotationDocument {
  readonly state: string;
  readonly oldAuthKeyId: string;
  readonly newAuthKeyId: string;
}

interface KeyedWalk extends AsyncDisposable {
  readonly walk: Walk;
  /** Those of the AuthKeys that there were. */
  readonly secrets: readonly string[];
}

/** A walk whose AuthKey lies in a file that is also the sink of its rotation. */
async function withKeyFile({ env, ...options }: WalkOptions = {}): Promise<KeyedWalk> {
  const walk = await Walk.open({
    operations: "all",
    ...options,
    limits: { Operator: 600, ...options.limits },
    env: { ...deployed, ...noKey, SIMFLEET_AUTH_KEY_FILE: "auth-key", SIMFLEET_CONFIG: "rotation.yaml", ...env },
  });
  const { authKeyId, authKey, userAuthKeyId, userAuthKey } = walk.sandbox.options;
  const first =
    userAuthKeyId === undefined ? { authKeyId, authKey } : { authKeyId: userAuthKeyId, authKey: userAuthKey };
  await put(walk, first);
  await walk.write("seal-key", "5ea1".repeat(16));
  await privately(walk, "seal-key");
  await walk.write(
    "rotation.yaml",
    "authKeys: { default: { sinks: [{ file: auth-key }], graceSeconds: 1 } }\nseal: { keyFile: seal-key }\n",
  );
  const secrets: string[] = [String(first.authKey)];
  const { authKeys } = walk.sandbox.accounts;
  const create = authKeys.create.bind(authKeys);
  authKeys.create = (userName) => {
    const made = create(userName);
    secrets.push(made.authKey);
    return made;
  };
  return { walk, secrets, [Symbol.asyncDispose]: () => walk[Symbol.asyncDispose]() };
}

async function put(walk: Walk, key: object): Promise<void> {
  await walk.write("auth-key.new", JSON.stringify(key));
  await privately(walk, "auth-key.new");
  await rename(join(walk.folder, "auth-key.new"), join(walk.folder, "auth-key"));
}

function privately(walk: Walk, name: string): Promise<unknown> {
  return walk.startProgram("/bin/chmod", ["600", name]).ended;
}

async function events(walk: Walk): Promise<string> {
  const redis = await walk.redis();
  return JSON.stringify(await redis.xrange("simfleet:events", "-", "+"));
}

/** So many that a rotation on a slow machine ends before them, at ten a second; what is left is let go at once then. */
const rows = 1_500;

describe.concurrent("a run goes on without a failed row while its AuthKey is rotated under it,", () => {
  test.each<[string, WalkOptions]>([
    ["of the Root user", {}],
    ["where revoking ends the pairs as well", { revokeKillsPairs: true }],
    ["of a sub-user", { userAuthKeyId: "keyId-robot", userAuthKey: "secret-robot-canary" }],
  ])("%s", async (_, options) => {
    await using keyed = await withKeyFile({
      authKey: "secret-canary-of-the-old-key",
      ...options,
      isProcessPerCommand: true, // so that no command knows, and hides, what another one has as a secret
      limits: { Sim: 20 },
      sims: rows,
      env: { SIMFLEET_LOG_LEVEL: "trace" },
    });
    const { walk, secrets } = keyed;
    let changesAtRevocation = rows;
    const revoke = walk.sandbox.accounts.revoke.bind(walk.sandbox.accounts);
    walk.sandbox.accounts.revoke = (userName, authKeyId) => {
      changesAtRevocation = walk.changes;
      revoke(userName, authKeyId);
    };
    const redis = await walk.redis();
    await walk.fleet("fleet.csv", rows);
    const worker = await walk.worker();
    const applied = await walk.run(["apply", "fleet.csv", "--yes", "--detach"]);
    const runId = applied.stdout.trim();
    await walk.untilChanges(40);
    const rotate = walk.start(["authkeys", "rotate", "--yes", "--json"]);
    await until("the rotation has a process", async () => (await titleOf(rotate)).includes("authkeys"));
    const titles = [await titleOf(rotate), await titleOf(worker)];
    const sealed = (): Promise<string | null> => redis.hget("simfleet:authkeys:default:rotation", "sealed");
    await until("the new secret lies sealed", async () => (await sealed()) !== null, 60_000);
    const dumps = [await dumpOf(redis)];
    const rotated = await rotate.ended;
    expect(rotated.code).toBe(0);
    const document = JSON.parse(rotated.stdout) as RotationDocument;
    expect(document.state).toBe("done");
    // Under the run, not after it.
    expect(changesAtRevocation).toBeLessThan(rows);
    const userName = options.userAuthKeyId === undefined ? undefined : walk.sandbox.options.userName;
    const left = walk.sandbox.accounts.authKeys.list(userName).map(({ authKeyId }) => authKeyId);
    expect(left).toEqual([document.newAuthKeyId]);

    walk.sandbox.throttle.changeLimit({ group: "Sim", limit: 2_000, afterMs: 0 });
    const watched = await walk.json(["runs", "watch", runId]);
    expect(watched).toMatchObject({ code: 0, document: { counts: { total: rows, done: rows, failed: 0 } } });
    const listed = await walk.run(["authkeys", "list"]);
    expect(listed.stdout).toContain(document.newAuthKeyId);
    const results = await walk.run(["runs", "results", runId, "--out", "results.csv"]);
    worker.kill("SIGTERM");
    const stopped = await worker.ended;
    expect(stopped.stderr).not.toMatch(/"level":"error"/);

    expect(secrets).toHaveLength(2);
    const said = [rotated, listed, results, watched, stopped, applied].map(({ stdout, stderr }) => stdout + stderr);
    expect(found(said.join("\n"), secrets)).toEqual([]);
    expect(found(titles.join("\n"), secrets)).toEqual([]);
    expect(found([...dumps, await dumpOf(redis)].join("\n"), secrets)).toEqual([]);
    // The file that is meant to hold it is the only one.
    await walk.write("auth-key", "");
    expect(found(await textsIn(walk.folder), secrets)).toEqual([]);
    expect(await events(walk)).toContain("authkey.rotated");
  });
});

describe.concurrent("the command line rotates", () => {
  test("by itself where no worker is up, and refuses when both slots are taken", async () => {
    await using keyed = await withKeyFile();
    const { walk } = keyed;
    const { authKeyId: spare } = walk.sandbox.accounts.authKeys.create(undefined);
    const refused = await walk.run(["authkeys", "rotate", "--yes"]);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toMatch(
      /Both AuthKeys that a user can hold are taken: keyId-sandbox \(.*in use here\); keyId-/,
    );
    expect(refused.stderr).toContain(`To revoke one first, add --replace ${spare}.`);
    const rotated = await walk.json<RotationDocument>(["authkeys", "rotate", "--yes", "--replace", spare]);
    expect(rotated).toMatchObject({ code: 0, document: { state: "done", oldAuthKeyId: "keyId-sandbox" } });
    const listed = await walk.json<{ authKeys: { authKeyId: string; usedBy: string[] }[] }>(["authkeys", "list"]);
    expect(listed.document.authKeys.map(({ authKeyId }) => authKeyId)).toEqual([rotated.document.newAuthKeyId]);
    expect(listed.document.authKeys[0]?.usedBy).toHaveLength(1);
    expect((await walk.run(["check"])).code).toBe(0);
  });

  test("to the end when its process was killed in the middle", async () => {
    await using keyed = await withKeyFile();
    const { walk } = keyed;
    const redis = await walk.redis();
    const killed = walk.start(["authkeys", "rotate", "--yes"]);
    const sealed = (): Promise<string | null> => redis.hget("simfleet:authkeys:default:rotation", "sealed");
    await until("the new secret lies sealed", async () => (await sealed()) !== null, 60_000);
    killed.kill("SIGKILL");
    await killed.ended;
    expect(walk.sandbox.accounts.authKeys.list(undefined)).toHaveLength(2);
    const rotated = await walk.json<RotationDocument>(["authkeys", "rotate"]);
    expect(rotated.stderr).toContain("Resuming the rotation of keyId-sandbox.");
    expect(rotated).toMatchObject({ code: 0, document: { state: "done", oldAuthKeyId: "keyId-sandbox" } });
    const left = walk.sandbox.accounts.authKeys.list(undefined).map(({ authKeyId }) => authKeyId);
    expect(left).toEqual([rotated.document.newAuthKeyId]);
  });

  test("and says what it lacks: operations, sinks, a seal", async () => {
    await using keyed = await withKeyFile();
    const { walk } = keyed;
    const lacking = await walk.run(["authkeys", "rotate", "--yes"], { SIMFLEET_DEPLOYMENT: "svc" });
    expect(lacking.code).toBe(2);
    expect(lacking.stderr).toContain("operations.listAuthKeys, operations.createAuthKey, operations.revokeAuthKey");
    expect((await walk.run(["authkeys", "list"], { SIMFLEET_DEPLOYMENT: "svc" })).stderr).toContain(
      "Listing AuthKeys needs this operation",
    );
    await walk.write("empty.yaml", "");
    const sinkless = await walk.run(["authkeys", "rotate", "--yes"], { SIMFLEET_CONFIG: "empty.yaml" });
    expect(sinkless.stderr).toContain("sinks: [{ file: auth-key }]");
    await walk.write("sealless.yaml", "authKeys: { default: { sinks: [{ file: auth-key }] } }\n");
    const sealless = await walk.run(["authkeys", "rotate", "--yes"], { SIMFLEET_CONFIG: "sealless.yaml" });
    expect(sealless.stderr).toContain("seal.keyFile: is required: Rotating AuthKeys");
  });
});

test.concurrent("a pair is renewed by its token where the deployment has the operation", async () => {
  await using walk = await Walk.open({
    ...{ operations: "all", pairTtlSeconds: 16, sims: 110, limits: { Sim: 20, Operator: 600 } },
    env: deployed,
  });
  await walk.fleet("fleet.csv", 110);
  // Few connections, so that calls begin throughout the run: a pair is looked at when a call begins.
  const env = { SIMFLEET_JWKS_URL: `${walk.sandbox.url}/.well-known/jwks.json`, SIMFLEET_CONNECTIONS: "4" };
  expect(await walk.json(["apply", "fleet.csv", "--yes"], env)).toMatchObject({ document: { counts: { done: 110 } } });
  const { auth, renewToken } = walk.sandbox.state.totals.byOperation;
  expect(auth).toBe(1);
  expect(renewToken).toBeGreaterThanOrEqual(1);
});

describe.concurrent("two AuthKeys", () => {
  test("the second works where the first is refused, which is said once and checked for each", async () => {
    await using walk = await Walk.open({
      env: {
        SIMFLEET_AUTH_KEY_ID: "keyId-gone",
        SIMFLEET_AUTH_KEY: "secret-gone",
        SIMFLEET_AUTH_KEY_ID_2: "keyId-sandbox",
        SIMFLEET_AUTH_KEY_2: "secret-sandbox",
        SIMFLEET_EGRESS: "site-a",
      },
    });
    await walk.fleet("fleet.csv", 5);
    const applied = await walk.json(["apply", "fleet.csv", "--yes"]);
    expect(applied).toMatchObject({ code: 0, document: { counts: { done: 5 } } });
    expect(await events(walk)).toContain("authkey.refused");
    const { document: quota } = await walk.json<{ buckets: { bucket: string }[] }>(["quota"]);
    expect(quota.buckets.map(({ bucket }) => bucket)).toContain("ip.site-a.Auth-auth");
    const checked = await walk.run(["check"]);
    expect(checked.code).toBe(3);
    expect(checked.stdout).toMatch(/FAIL +AuthKey +keyId-gone: auth: not authorized/);
    expect(checked.stdout).toMatch(/ok +AuthKey +keyId-sandbox is accepted/);
  });

  test("a worker takes up a file that changes, and keeps what it has when that is faulty", async () => {
    await using keyed = await withKeyFile();
    const { walk } = keyed;
    const worker = await walk.worker();
    await walk.fleet("fleet.csv", 3);
    await put(walk, { authKeyId: "keyId-half" });
    await worker.said(/a secret file has changed but cannot be loaded/);
    const next = walk.sandbox.accounts.authKeys.create(undefined);
    await put(walk, next);
    await worker.said(/a secret file has changed: authenticating with its new content/);
    await until("the new AuthKey was used", () =>
      walk.sandbox.accounts.authKeys
        .list(undefined)
        .some((key) => key.authKeyId === next.authKeyId && key.lastUsedDateTime),
    );
    walk.sandbox.accounts.revoke(undefined, "keyId-sandbox");
    expect(await walk.json(["apply", "fleet.csv", "--yes"])).toMatchObject({ document: { counts: { done: 3 } } });
    expect(await events(walk)).toMatch(/secret\.kept.*secret\.reloaded/);
  });
});
