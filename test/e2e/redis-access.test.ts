/** A Redis of the operator's own: with an ACL user that is kept to our keys, with TLS, and with both refused. */
import { join } from "node:path";
import { readFile, writeFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { RedisConnections } from "#redis/connection.ts";
import { createAuthority } from "../support/certificates.ts";
import { root } from "./support/built-cli.ts";
import { redisWithTls, redisWithUsers } from "./support/redis-server.ts";
import { CliHarness } from "./support/cli-harness.ts";

const password = "p@ss/w0rd-of-acl#1%";
const adminToken = "admin-token-of-the-test-of-0123456789";
const inUrl = encodeURIComponent(password);

/** The line that docs/redis.md gives operators. */
async function documentedUser(): Promise<string> {
  const page = await readFile(join(root, "docs", "redis.md"), "utf8");
  const line = /^user simfleet on >PASSWORD .*$/m.exec(page)?.[0];
  if (line === undefined) throw new Error("docs/redis.md has no ACL line");
  return line.replace("PASSWORD", () => password);
}

/** A server with the documented user, an administrator for the test, and nobody else. */
async function serverWithUsers(harness: CliHarness) {
  const aclFile = harness.path("users.acl");
  const admin = "user admin on >admin-word ~* &* +@all";
  await writeFile(aclFile, `user default off\n${admin}\n${await documentedUser()}\n`);
  const server = await redisWithUsers(harness, aclFile);
  const connections = new RedisConnections({
    host: "127.0.0.1",
    port: server.port,
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

describe.concurrent("the documented Redis ACL user", () => {
  // Shows S13.
  test("the documented ACL user can complete a run with its password in a file and no denied command", async () => {
    await using harness = await CliHarness.open({ sims: 40 });
    await using server = await serverWithUsers(harness);
    await writeFile(harness.path("redis-password"), `${password}\n`, { mode: 0o600 });
    const env = {
      SIMFLEET_REDIS_URL: `redis://127.0.0.1:${server.port}`,
      SIMFLEET_REDIS_USERNAME: "simfleet",
      SIMFLEET_REDIS_PASSWORD_FILE: harness.path("redis-password"),
    };
    await harness.fleet("fleet.csv", 40);
    expect(await harness.json(["apply", "fleet.csv", "--yes"], env)).toMatchObject({
      code: 0,
      document: { state: "completed", counts: { done: 40 } },
    });
    expect((await harness.run(["sims", "sync"], env)).code).toBe(0);
    expect((await harness.run(["check"], env)).stdout).toContain(`redis://simfleet@127.0.0.1:${server.port}, version `);
    expect((await harness.run(["runs", "list"], env)).code).toBe(0);
    expect((await harness.run(["freeze", "on", "--reason", "stocktaking"], env)).code).toBe(0);
    expect((await harness.run(["freeze", "off"], env)).code).toBe(0);
    expect(await server.redis.acl("LOG")).toEqual([]);
    const keys = await server.redis.keys("*");
    expect(keys.filter((key) => !key.startsWith("{simfleet}:"))).toEqual([]);
    expect(keys.length).toBeGreaterThan(0);
  });

  test("the documented ACL user works with user and percent-encoded password in the address", async () => {
    await using harness = await CliHarness.open();
    await using server = await serverWithUsers(harness);
    const env = { SIMFLEET_REDIS_URL: `redis://simfleet:${inUrl}@127.0.0.1:${server.port}` };
    await harness.fleet("fleet.csv", 5);
    expect(await harness.json(["apply", "fleet.csv", "--yes"], env)).toMatchObject({
      code: 0,
      document: { counts: { done: 5 } },
    });
    const checked = await harness.run(["check"], env);
    expect(checked.stdout).toContain(`redis://simfleet@127.0.0.1:${server.port}, version `);
    expect(checked.stdout + checked.stderr).not.toMatch(/w0rd-of-acl/);
  });

  test("the documented ACL user suffices for a worker, whose log never contains the password", async () => {
    await using harness = await CliHarness.open();
    await using server = await serverWithUsers(harness);
    const env = {
      SIMFLEET_REDIS_URL: `redis://simfleet:${inUrl}@127.0.0.1:${server.port}`,
      SIMFLEET_LOG_LEVEL: "trace",
      SIMFLEET_HTTP_ADMIN_TOKEN: adminToken,
    };
    const worker = await harness.worker(env);
    await harness.fleet("fleet.csv", 20);
    const { document } = await harness.json(["apply", "fleet.csv", "--yes", "--detach"], env);
    expect((await harness.run(["runs", "watch", document.runId], env)).code).toBe(0);
    const { port } = new URL(/"http":"([^"]+)"/.exec(worker.stderr)?.[1] ?? "");
    const headers = { authorization: `Bearer ${adminToken}` };
    for (const path of ["/metrics", "/v1/runs", "/v1/webhooks", "/v1/schedules", "/v1/audit"]) {
      expect((await fetch(`http://127.0.0.1:${port}${path}`, { headers })).status).toBe(200);
    }
    worker.kill("SIGTERM");
    const { stdout, stderr } = await worker.ended;
    expect(await server.redis.acl("LOG")).toEqual([]);
    expect(stdout + stderr).toContain(`redis://simfleet@127.0.0.1:${server.port}`);
    expect(stdout + stderr).not.toMatch(/w0rd-of-acl/);
  });

  test("a wrong Redis password ends with exit code 4 and one sentence without the password", async () => {
    await using harness = await CliHarness.open();
    await using server = await serverWithUsers(harness);
    const env = { SIMFLEET_REDIS_URL: `redis://simfleet:wrong-word@127.0.0.1:${server.port}` };
    const failed = await harness.run(["runs", "list"], env);
    expect(failed).toMatchObject({ code: 4, stdout: "" });
    expect(failed.stderr).toMatch(/^simfleet: Redis at 127\.0\.0\.1:\d+ cannot be used: WRONGPASS [^\n]*\n$/);
    expect(failed.stderr).not.toContain("wrong-word");
  });

  // Shows S13.
  test("the documented ACL user can detect and refuse a Redis that evicts data", async () => {
    await using harness = await CliHarness.open();
    await using server = await serverWithUsers(harness);
    await server.redis.config("SET", "maxmemory-policy", "allkeys-lru");
    const env = { SIMFLEET_REDIS_URL: `redis://simfleet:${inUrl}@127.0.0.1:${server.port}` };
    const failed = await harness.run(["runs", "list"], env);
    expect(failed).toMatchObject({ code: 4, stdout: "" });
    expect(failed.stderr).toMatch(/has maxmemory-policy allkeys-lru/);
  });
});

describe.concurrent("TLS for Redis with certificates of a private CA", () => {
  async function filesOf(harness: CliHarness) {
    const authority = createAuthority();
    const server = authority.issue("redis", ["127.0.0.1", "localhost"]);
    const client = authority.issue("simfleet");
    const write = async (name: string, content: string) => {
      await writeFile(harness.path(name), content, { mode: 0o600 });
      return harness.path(name);
    };
    return {
      ca: await write("ca.pem", authority.cert),
      server: { cert: await write("server.pem", server.cert), key: await write("server-key.pem", server.key) },
      client: { cert: await write("client.pem", client.cert), key: await write("client-key.pem", client.key) },
    };
  }

  // Shows S13.
  test("a run completes over rediss:// with a client certificate", async () => {
    await using harness = await CliHarness.open({ sims: 30 });
    const { ca, server: own, client } = await filesOf(harness);
    await using server = await redisWithTls(harness, { ca, ...own });
    await harness.fleet("fleet.csv", 30);
    for (const host of ["127.0.0.1", "localhost"]) {
      const env = {
        SIMFLEET_REDIS_URL: `rediss://${host}:${server.port}/1`,
        SIMFLEET_REDIS_TLS_CA_FILE: ca,
        SIMFLEET_REDIS_TLS_CERT_FILE: client.cert,
        SIMFLEET_REDIS_TLS_KEY_FILE: client.key,
      };
      expect(await harness.json(["apply", "fleet.csv", "--yes"], env)).toMatchObject({
        code: 0,
        document: { state: "completed", counts: { done: 30 } },
      });
      expect((await harness.run(["check"], env)).stdout).toContain(`rediss://${host}:${server.port}/1, version `);
    }
  });

  test("TLS settings are also read from the config file", async () => {
    await using harness = await CliHarness.open();
    const { ca, server: own, client } = await filesOf(harness);
    await using server = await redisWithTls(harness, { ca, ...own });
    const tls = `{ caFile: ${ca}, certFile: ${client.cert}, keyFile: ${client.key} }`;
    await harness.write("simfleet.yaml", `redis: { url: "rediss://127.0.0.1:${server.port}", tls: ${tls} }\n`);
    const checked = await harness.run(["check", "--config", "simfleet.yaml"]);
    expect(checked.stdout).toContain(`rediss://127.0.0.1:${server.port}, version `);
  });

  test("a server with an unknown CA and a client without a certificate are refused", async () => {
    await using harness = await CliHarness.open();
    const { ca, server: own } = await filesOf(harness);
    await using server = await redisWithTls(harness, { ca, ...own });
    const SIMFLEET_REDIS_URL = `rediss://127.0.0.1:${server.port}`;
    const stranger = await harness.run(["runs", "list"], { SIMFLEET_REDIS_URL });
    expect(stranger).toMatchObject({ code: 4, stdout: "" });
    expect(stranger.stderr).toMatch(/cannot be used: .*certificate/i);
    const bare = await harness.run(["runs", "list"], { SIMFLEET_REDIS_URL, SIMFLEET_REDIS_TLS_CA_FILE: ca });
    expect(bare).toMatchObject({ code: 4, stdout: "" });
  });
});
