/**
 * Redis as operators run and guard it: a server, a cluster or a primary with Sentinels; with ACL users that are kept to
 * our keys, with TLS, and addresses that lead to the wrong kind.
 */
import { join } from "node:path";
import { readFile, writeFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import type { ScheduleReport } from "#jobs/schedules/contract.ts";
import { redisConnections } from "#redis/connection.ts";
import { createAuthority } from "../support/certificates.ts";
import { isLong } from "../support/long.ts";
import { until } from "../support/until.ts";
import { root } from "./support/built-cli.ts";
import { redisOnPort, redisWithTls, redisWithUsers } from "./support/redis-server.ts";
import { primaryName, redisCluster, redisWithSentinels } from "./support/redis-topologies.ts";
import { CliHarness } from "./support/cli-harness.ts";

const password = "p@ss/w0rd-of-acl#1%";
const adminToken = "admin-token-of-the-test-of-0123456789";
const inUrl = encodeURIComponent(password);

/** The lines that docs/redis.md gives operators: for servers and for Sentinels. */
async function documentedUsers(): Promise<{ server: string; sentinel: string }> {
  const page = await readFile(join(root, "docs", "redis.md"), "utf8");
  const lines = [...page.matchAll(/^user simfleet on >PASSWORD .*$/gm)].map(([line]) => line);
  const [server, sentinel] = lines.map((line) => line.replace("PASSWORD", () => password));
  if (server === undefined || sentinel === undefined) throw new Error("docs/redis.md lacks an ACL line");
  return { server, sentinel };
}

/** A server with the documented user and an administrator for the test alone. */
async function serverWithUsers(harness: CliHarness) {
  const aclFile = harness.path("users.acl");
  const admin = "user admin on >admin-word ~* &* +@all";
  await writeFile(aclFile, `user default off\n${admin}\n${(await documentedUsers()).server}\n`);
  const server = await redisWithUsers(harness, aclFile);
  const connections = redisConnections({
    topology: "server",
    addresses: [{ host: "127.0.0.1", port: server.port }],
    username: "admin",
    password: "admin-word",
  });
  const redis = connections.connect("admin");
  return {
    ...server,
    redis,
    [Symbol.asyncDispose]: () => connections.close().then(() => server[Symbol.asyncDispose]()),
  };
}

/** Files of a private CA, of a server and of a client; what a server's file says of them, and what our settings say. */
async function certificates(harness: CliHarness) {
  const authority = createAuthority();
  const [server, client] = [authority.issue("redis", ["127.0.0.1", "localhost"]), authority.issue("simfleet")];
  const write = async (name: string, content: string): Promise<string> => {
    await writeFile(harness.path(name), content, { mode: 0o600 });
    return harness.path(name);
  };
  const ca = await write("ca.pem", authority.cert);
  const cert = await write("server.pem", server.cert);
  const key = await write("server-key.pem", server.key);
  return {
    files: { ca, cert, key },
    lines: ["tls-auth-clients yes", `tls-ca-cert-file ${ca}`, `tls-cert-file ${cert}`, `tls-key-file ${key}`],
    connection: { tls: { ca: authority.cert, cert: server.cert, key: server.key } },
    env: {
      SIMFLEET_REDIS_TLS_CA_FILE: ca,
      SIMFLEET_REDIS_TLS_CERT_FILE: await write("client.pem", client.cert),
      SIMFLEET_REDIS_TLS_KEY_FILE: await write("client-key.pem", client.key),
    },
  };
}

const config = `seal: { keyFile: seal-key }
rotations:
  mqtt:
    type: psk
    generate: { field: key, bytes: 32, encoding: base64url }
    graceSeconds: 0
    sinks: [ { file: mqtt-psk } ]
schedules:
  sync: { cron: "0 3 1 1 *", job: sync }
  fast: { cron: "0 8 1 1 *", job: apply, where: "speedClass=s1.slow", speedClass: s1.fast }
  key: { cron: "0 4 1 1 *", job: rotate, rotation: mqtt }
`;
const options = { sims: 40, isSoracom: true, config } as const;

/** Applies `fleet.csv`, of which all rows are done. */
async function expectApplied(harness: CliHarness, rows: number, env: Record<string, string>): Promise<void> {
  const applied = await harness.json(["apply", "fleet.csv", "--yes", "--send-unchanged"], env);
  expect(applied).toMatchObject({ code: 0, document: { state: "completed", counts: { done: rows } } });
}

/** Settings with which the documented user signs in at servers, and at Sentinels; its password is in a file. */
async function credentialsOfUser(harness: CliHarness) {
  const file = harness.path("redis-password");
  await writeFile(file, `${password}\n`, { mode: 0o600 });
  return {
    servers: { SIMFLEET_REDIS_USERNAME: "simfleet", SIMFLEET_REDIS_PASSWORD_FILE: file },
    sentinels: { SIMFLEET_REDIS_SENTINEL_USERNAME: "simfleet", SIMFLEET_REDIS_SENTINEL_PASSWORD_FILE: file },
  };
}

/** A command cannot use Redis with these settings. @returns why */
async function expectRefused(harness: CliHarness, env: Record<string, string>): Promise<string> {
  const { code, stdout, stderr } = await harness.run(["runs", "list"], env);
  expect([code, stdout]).toEqual([4, ""]);
  return stderr;
}

/**
 * A run of a file, a sync, a run of a schedule and a rotation, all by a worker.
 * @returns what `check` says of them afterwards
 */
async function expectWork(harness: CliHarness, env: Record<string, string>): Promise<string> {
  harness.sandbox.state.credentials.create("mqtt", { type: "psk", credentials: { key: "before" } });
  const worker = await harness.worker(env);
  await harness.fleet("fleet.csv", 40);
  await expectApplied(harness, 40, env);
  for (const name of ["sync", "fast", "key"]) {
    expect((await harness.run(["schedules", "trigger", name], env)).code).toBe(0);
    await until(
      `the schedule ${name} has done its task`,
      async () => {
        const { document } = await harness.json<{ schedules: ScheduleReport[] }>(["schedules", "list"], env);
        const last = document.schedules.find((one) => one.name === name)?.last;
        if (last !== null && last?.result !== "done") throw new Error(JSON.stringify(last));
        return last !== null;
      },
      30_000,
    );
  }
  expect(await harness.read("mqtt-psk")).toMatch(/^[\w-]{43}$/);
  expect(await worker.end()).toMatchObject({ code: 0 });
  return (await harness.run(["check"], env)).stdout;
}

// Shows S13.
describe.concurrent("the documented ACL user suffices for a worker and for commands, and no output has the password", () => {
  /** A worker that has the password in its URL, and commands that have it in a file. @returns their settings */
  async function workAsUser(harness: CliHarness, { port }: { port: number }) {
    const worker = await harness.worker({
      SIMFLEET_REDIS_URL: `redis://simfleet:${inUrl}@127.0.0.1:${port}`,
      SIMFLEET_LOG_LEVEL: "trace",
      SIMFLEET_HTTP_ADMIN_TOKEN: adminToken,
    });
    const { servers } = await credentialsOfUser(harness);
    const env = { SIMFLEET_REDIS_URL: `redis://127.0.0.1:${port}`, ...servers };
    await harness.fleet("fleet.csv", 40);
    await expectApplied(harness, 40, env);
    for (const line of ["sims sync", "runs list", "freeze on --yes --reason stocktaking", "freeze off"]) {
      expect((await harness.run(line.split(" "), env)).code).toBe(0);
    }
    const url = /"http":"([^"]+)"/.exec(worker.stderr)?.[1] ?? "";
    const headers = { authorization: `Bearer ${adminToken}` };
    for (const path of ["/metrics", "/v1/runs", "/v1/webhooks", "/v1/schedules", "/v1/audit"]) {
      expect((await fetch(`${url}${path}`, { headers })).status).toBe(200);
    }
    return { env, worker: await worker.end() };
  }

  test("no command or request is denied, and all keys are simfleet's", async () => {
    await using harness = await CliHarness.open({ sims: 40 });
    await using server = await serverWithUsers(harness);
    const { env } = await workAsUser(harness, server);
    expect((await harness.run(["check"], env)).stdout).toContain(`redis://simfleet@127.0.0.1:${server.port}, version `);
    expect(await server.redis.acl("LOG")).toEqual([]);
    const keys = await server.redis.keys("*");
    expect(keys.filter((key) => !key.startsWith("{simfleet}:"))).toEqual([]);
    expect(keys.length).toBeGreaterThan(0);
  });

  test("a worker shows the user and the address of Redis, and not the password", async () => {
    await using harness = await CliHarness.open({ sims: 40 });
    await using server = await serverWithUsers(harness);
    const { stdout, stderr } = (await workAsUser(harness, server)).worker;
    expect(stdout + stderr).toContain(`redis://simfleet@127.0.0.1:${server.port}`);
    expect(stdout + stderr).not.toMatch(/w0rd-of-acl/);
  });
});

describe.concurrent("TLS for Redis with certificates of a private CA", () => {
  // Shows S13.
  test("a run completes over rediss:// with a client certificate", async () => {
    await using harness = await CliHarness.open({ sims: 30, rows: 30 });
    const { files, env: tls } = await certificates(harness);
    await using server = await redisWithTls(harness, files);
    for (const host of ["127.0.0.1", "localhost"]) {
      const env = { ...tls, SIMFLEET_REDIS_URL: `rediss://${host}:${server.port}/1` };
      await expectApplied(harness, 30, env);
      expect((await harness.run(["check"], env)).stdout).toContain(`rediss://${host}:${server.port}/1, version `);
    }
  });

  test("a server with an unknown CA and a client without a certificate are refused", async () => {
    await using harness = await CliHarness.open();
    const { files } = await certificates(harness);
    await using server = await redisWithTls(harness, files);
    const SIMFLEET_REDIS_URL = `rediss://127.0.0.1:${server.port}`;
    expect(await expectRefused(harness, { SIMFLEET_REDIS_URL })).toMatch(/cannot be used: .*certificate/i);
    await expectRefused(harness, { SIMFLEET_REDIS_URL, SIMFLEET_REDIS_TLS_CA_FILE: files.ca });
  });
});

/** Lines of a configuration file as arguments. */
function argsOf(lines: readonly string[]): string[] {
  return lines.flatMap((line) => [`--${line.split(" ")[0]}`, line.slice(line.indexOf(" ") + 1)]);
}

/** A file of the documented user, and of one for the servers themselves who may do everything. */
async function aclFileOf(harness: CliHarness): Promise<string> {
  const aclFile = harness.path("users.acl");
  await writeFile(aclFile, `user default on nopass ~* &* +@all\n${(await documentedUsers()).server}\n`);
  return aclFile;
}

/** Servers and Sentinels with the documented users. */
async function sentinelsWithUsers(harness: CliHarness) {
  const { sentinel } = await documentedUsers();
  const others = ["user default on >default-word ~* &* +@all", "sentinel sentinel-pass default-word"];
  return redisWithSentinels(harness, {
    args: ["--aclfile", await aclFileOf(harness)],
    sentinelLines: [sentinel, ...others],
    sentinelConnection: { password: "default-word" },
  });
}

/** They start six servers each. */
const inLongForm = describe.runIf(isLong);

inLongForm.concurrent("a Redis of several servers with ACL users as the documentation gives them", () => {
  // Shows S13.
  test("the documented ACL lets the user of a cluster do its work and denies no command", async () => {
    await using harness = await CliHarness.open(options);
    await using cluster = await redisCluster(harness, { args: ["--aclfile", await aclFileOf(harness)] });
    const SIMFLEET_REDIS_URL = cluster.url.replace("://", `://simfleet:${encodeURIComponent(password)}@`);
    expect(await expectWork(harness, { SIMFLEET_REDIS_URL })).toMatch(
      /^ok +redis +redis\+cluster:\/\/simfleet@127\.0\.0\.1:\d+,.*, cluster, version \d/m,
    );
    for (const { redis } of cluster.nodes) expect(await redis.acl("LOG")).toEqual([]);
    const sizes = await Promise.all(cluster.nodes.map(({ redis }) => redis.dbsize()));
    expect(sizes.filter((size) => size > 0)).toHaveLength(1);
    const wrong = { SIMFLEET_REDIS_URL: cluster.url.replace("://", "://simfleet:wrong-word@") };
    const refusal = await expectRefused(harness, wrong);
    expect(refusal).toMatch(/cannot be used: (WRONGPASS|NOAUTH)/);
    expect(refusal).not.toContain("wrong-word");
  });

  // Shows S13.
  test("the documented ACL lets the users of Sentinels and servers do their work and denies no command", async () => {
    await using harness = await CliHarness.open(options);
    await using set = await sentinelsWithUsers(harness);
    const { servers, sentinels } = await credentialsOfUser(harness);
    const env = { SIMFLEET_REDIS_URL: set.url, ...servers, ...sentinels };
    const checked = await expectWork(harness, env);
    expect(checked).toContain(`/${primaryName}, primary named by Sentinel, version `);
    expect(checked).toMatch(/^warn +redis +min-replicas-to-write is 0/m);
    await set.primary.redis.config("SET", "min-replicas-to-write", "1");
    expect((await harness.run(["check"], env)).stdout).not.toContain("min-replicas-to-write");
    expect(await set.primary.redis.acl("LOG")).toEqual([]);
    for (const sentinel of set.asked) expect(await sentinel.acl("LOG")).toEqual([]);
    const without = { SIMFLEET_REDIS_URL: set.url, ...servers };
    expect(await expectRefused(harness, without)).toMatch(/no Sentinel answers \(NOAUTH/);
  });
});

inLongForm.concurrent("a Redis of several servers over TLS", () => {
  // Shows S13.
  test("a cluster with TLS is used with rediss+cluster://", async () => {
    await using harness = await CliHarness.open(options);
    const { lines, connection, env } = await certificates(harness);
    const args = [...argsOf(lines), "--tls-cluster", "yes", "--tls-replication", "yes"];
    await using cluster = await redisCluster(harness, { args, connection, scheme: "rediss+cluster" });
    expect(await expectWork(harness, { ...env, SIMFLEET_REDIS_URL: cluster.url })).toMatch(/^ok +redis +rediss/m);
    const plain = { SIMFLEET_REDIS_URL: cluster.url.replace("rediss", "redis") };
    await expectRefused(harness, plain);
  });

  // Shows S13.
  test("a primary with TLS is used through Sentinels with rediss+sentinel://", async () => {
    await using harness = await CliHarness.open(options);
    const { lines, connection, env } = await certificates(harness);
    await using set = await redisWithSentinels(harness, {
      args: [...argsOf(lines), "--tls-replication", "yes"],
      connection,
      scheme: "rediss+sentinel",
      sentinelLines: [...lines, "tls-replication yes"],
    });
    expect(await expectWork(harness, { ...env, SIMFLEET_REDIS_URL: set.url })).toMatch(/^ok +redis +rediss/m);
  });
});

test("an address of a cluster that is none, or that fails, is refused with the fault", async () => {
  await using harness = await CliHarness.open({ sims: 1 });
  await using server = await redisOnPort(harness);
  await using cluster = await redisCluster(harness);
  const [node] = cluster.nodes;
  await node?.redis.call("CLUSTER", "DELSLOTS", 0);
  for (const [url, message] of [
    [`redis://127.0.0.1:${node?.port}`, /is a node of a cluster: give SIMFLEET_REDIS_URL as redis\+cluster:/],
    [`redis+cluster://127.0.0.1:${server.port}`, /cluster support disabled/],
    ["redis+cluster://127.0.0.1:1,127.0.0.1:2", /none of the nodes answers/],
    [cluster.url, /is in a cluster whose state is fail/],
  ] as const) {
    expect(await expectRefused(harness, { SIMFLEET_REDIS_URL: url })).toMatch(message);
  }
});

test("an address of Sentinels that are none, or do not know the primary, is refused with the fault", async () => {
  await using harness = await CliHarness.open({ sims: 1 });
  await using server = await redisOnPort(harness);
  await using set = await redisWithSentinels(harness);
  for (const [url, message] of [
    [`redis+sentinel://127.0.0.1:${server.port}/x`, /no Sentinel answers \(ERR unknown command/],
    [set.url.replace(primaryName, "other"), /the Sentinels know no primary other/],
    ["redis+sentinel://127.0.0.1:1/x", /no Sentinel answers\. Check that it is running/],
  ] as const) {
    expect(await expectRefused(harness, { SIMFLEET_REDIS_URL: url })).toMatch(message);
  }
});
