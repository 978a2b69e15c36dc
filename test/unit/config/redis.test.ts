import { describe, expect, it } from "vitest";
import { loadConfig } from "#config/load.ts";
import { parseRedisUrl } from "#config/sections/redis.ts";
import type { Environment } from "#config/read-settings.ts";
import { fileOf, problemsIn } from "./support.ts";
import { createAuthority } from "../../support/certificates.ts";

function redisOf(env: Environment) {
  const { redis, warnings } = loadConfig({ env });
  return { ...redis, password: redis?.password?.reveal(), warnings };
}

const problemsOf = (env: Environment): string[] => problemsIn(() => loadConfig({ env }));

const plain = {
  topology: "server",
  addresses: [{ host: "host", port: 6379 }],
  primary: undefined,
  username: undefined,
  password: undefined,
  database: 0,
  isTls: false,
};
const sentinel = { topology: "sentinel", primary: "fleet-1" };

/** Addresses as `host:port`. */
function at(...hosts: string[]) {
  const addresses = hosts.map((text) => {
    const colon = text.lastIndexOf(":");
    return { host: text.slice(0, colon), port: Number(text.slice(colon + 1)) };
  });
  return { addresses };
}

describe("the Redis address", () => {
  const addresses: [address: string, parts: object][] = [
    ["redis://host", {}],
    ["REDIS://host:6400", at("host:6400")],
    ["redis://host/", {}],
    ["redis://host/3/", { database: 3 }],
    ["redis://user:pw@host", { username: "user", password: "pw" }],
    ["redis://user@host", { username: "user" }],
    ["redis://:pw@host", { password: "pw" }],
    [
      "rediss://default:pw@db.example.com:6380/1",
      { ...at("db.example.com:6380"), username: "default", password: "pw", database: 1, isTls: true },
    ],
    ["redis://[::1]", at("::1:6379")],
    ["rediss://u:p@[2001:db8::7]:6380", { ...at("2001:db8::7:6380"), username: "u", password: "p", isTls: true }],
    ["redis://a%40b%3Ac:p%2Fw%40%23%3F%25%20%C3%A9@host", { username: "a@b:c", password: "p/w@#?% é" }],
    ["redis+sentinel://a:1,b/fleet-1", { ...sentinel, ...at("a:1", "b:26379") }],
    ["redis+sentinel://a/fleet-1/2", { ...sentinel, ...at("a:26379"), database: 2 }],
    [
      "rediss+sentinel://u:p%2Cw@[::1]:5,b:6/fleet-1",
      { ...sentinel, ...at("::1:5", "b:6"), username: "u", password: "p,w", isTls: true },
    ],
    ["redis+cluster://a:1,b", { topology: "cluster", ...at("a:1", "b:6379") }],
    ["redis+cluster://a/0", { topology: "cluster", ...at("a:6379") }],
    ["RedisS+Cluster://:pw@a:1", { topology: "cluster", ...at("a:1"), password: "pw", isTls: true }],
  ];

  it.each(addresses)("the Redis address %s is parsed", (address, deps) => {
    expect(parseRedisUrl(address)).toEqual({ ...plain, ...deps });
  });

  it.each([
    "host:6379",
    "http://u:hunter2@host",
    "redis://u:hunter2@host:99999",
    "redis://:hunter2/x@host",
    "redis://:hunter2%@host",
    "redis://host?password=hunter2",
    "redis+sentinel://:hunter2@a:1",
    "redis+sentinel://a:1/hunter2%20",
    "redis+cluster://a:1/2",
  ])("the Redis address %s is refused with an example, without being quoted", (address) => {
    const example = /^redis(?:\+sentinel|\+cluster)?/.exec(address)?.[0] ?? "redis";
    const problems = problemsOf({ SIMFLEET_REDIS_URL: address }).join("\n");
    expect(problems).toMatch(/^SIMFLEET_REDIS_URL: must be an address such as /);
    expect(problems).toContain(`such as ${example}://`);
    expect(problems).not.toContain("hunter2");
  });
});

describe("the Redis settings", () => {
  const passwordFile = fileOf("from file\n");

  it("Redis user and password come from the address, the settings, or one from each", () => {
    const deps = { username: "op", password: "from file" };
    const named = { SIMFLEET_REDIS_USERNAME: "op", SIMFLEET_REDIS_PASSWORD_FILE: passwordFile };
    expect(redisOf({ SIMFLEET_REDIS_URL: "redis://localhost", ...named })).toMatchObject(deps);
    expect(
      redisOf({ SIMFLEET_REDIS_URL: "redis://op@localhost", SIMFLEET_REDIS_PASSWORD_FILE: passwordFile }),
    ).toMatchObject(deps);
    expect(redisOf({ SIMFLEET_REDIS_URL: "redis://:pw@localhost", SIMFLEET_REDIS_USERNAME: "op" })).toMatchObject({
      username: "op",
      password: "pw",
    });
    expect(redisOf({ SIMFLEET_REDIS_URL: "redis://op@localhost", ...named })).toMatchObject(deps);
  });

  it("conflicting values in the Redis address and a setting are refused", () => {
    expect(problemsOf({ SIMFLEET_REDIS_URL: "redis://a:pw@localhost", SIMFLEET_REDIS_USERNAME: "b" })).toEqual([
      "SIMFLEET_REDIS_USERNAME: differs from the user name in redis.url. Keep one of them.",
    ]);
    expect(
      problemsOf({ SIMFLEET_REDIS_URL: "redis://a:pw@localhost", SIMFLEET_REDIS_PASSWORD_FILE: passwordFile }),
    ).toEqual(["SIMFLEET_REDIS_PASSWORD_FILE: is set, and redis.url has a password too. Keep one of them."]);
  });

  it("a Redis user without a password is refused", () => {
    const hint = "names a user without a password: set redis.passwordFile as well.";
    expect(problemsOf({ SIMFLEET_REDIS_URL: "redis://a@localhost" })).toEqual([`SIMFLEET_REDIS_URL: ${hint}`]);
    expect(problemsOf({ SIMFLEET_REDIS_URL: "redis://localhost", SIMFLEET_REDIS_USERNAME: "a" })).toEqual([
      `SIMFLEET_REDIS_USERNAME: ${hint}`,
    ]);
  });

  it("Redis settings without an address are refused", () => {
    const caFile = fileOf("x");
    expect(problemsOf({ SIMFLEET_REDIS_USERNAME: "a", SIMFLEET_REDIS_TLS_CA_FILE: caFile })).toEqual([
      "SIMFLEET_REDIS_USERNAME: is set without redis.url (SIMFLEET_REDIS_URL).",
      "SIMFLEET_REDIS_TLS_CA_FILE: is set without redis.url (SIMFLEET_REDIS_URL).",
    ]);
  });

  it("plain redis:// causes a warning for a remote host but not for localhost", () => {
    expect(redisOf({ SIMFLEET_REDIS_URL: "redis://:hunter2@db.example.com" }).warnings).toEqual([
      {
        where: "SIMFLEET_REDIS_URL",
        message:
          "is not encrypted on its way to db.example.com: passwords and data can be read on the network. Use rediss:// (TLS).",
      },
    ]);
    for (const host of ["localhost", "127.0.0.1", "127.0.0.2:6400", "[::1]"]) {
      expect(redisOf({ SIMFLEET_REDIS_URL: `redis://${host}` }).warnings).toEqual([]);
    }
    expect(redisOf({ SIMFLEET_REDIS_URL: "rediss://db.example.com" }).warnings).toEqual([]);
  });
});

describe("the settings of Sentinels", () => {
  const SIMFLEET_REDIS_URL = "redis+sentinel://op:pw@localhost:1,localhost:2/fleet-1/3";

  it("Sentinels have a user and a password of their own, and the address is shown without a password", () => {
    const env = {
      SIMFLEET_REDIS_SENTINEL_USERNAME: "watch",
      SIMFLEET_REDIS_SENTINEL_PASSWORD_FILE: fileOf("hunter2\n"),
    };
    const { sentinelUsername, sentinelPassword, address } = redisOf({ SIMFLEET_REDIS_URL, ...env });
    expect([sentinelUsername, sentinelPassword?.reveal()]).toEqual(["watch", "hunter2"]);
    expect(address).toBe("redis+sentinel://op@localhost:1,localhost:2/fleet-1/3");
  });

  it("settings of Sentinels are refused without Sentinels, and a user without a password", () => {
    expect(problemsOf({ SIMFLEET_REDIS_URL, SIMFLEET_REDIS_SENTINEL_USERNAME: "watch" })).toEqual([
      "SIMFLEET_REDIS_SENTINEL_USERNAME: names a user without a password: set redis.sentinelPasswordFile as well.",
    ]);
    const env = { SIMFLEET_REDIS_URL: "redis://localhost", SIMFLEET_REDIS_SENTINEL_PASSWORD_FILE: fileOf("x") };
    expect(problemsOf(env)).toEqual([
      expect.stringMatching(/^SIMFLEET_REDIS_SENTINEL_PASSWORD_FILE: needs Sentinels: /),
    ]);
  });

  it("a plain connection to other machines gives a warning that names them", () => {
    expect(redisOf({ SIMFLEET_REDIS_URL: "redis+cluster://localhost:1,a:2,b:3" }).warnings).toEqual([
      {
        where: "SIMFLEET_REDIS_URL",
        message:
          "is not encrypted on its way to a, b: passwords and data can be read on the network. Use rediss+cluster:// (TLS).",
      },
    ]);
  });
});

describe("TLS for Redis", () => {
  const authority = createAuthority();
  const client = authority.issue("simfleet");
  const SIMFLEET_REDIS_TLS_CA_FILE = fileOf(authority.cert, 0o644);
  const SIMFLEET_REDIS_TLS_CERT_FILE = fileOf(client.cert, 0o644);
  const SIMFLEET_REDIS_TLS_KEY_FILE = fileOf(client.key);
  const SIMFLEET_REDIS_URL = "rediss://localhost";

  it("TLS for Redis reads the CA, the client certificate, and its key from files", () => {
    const env = {
      SIMFLEET_REDIS_URL,
      SIMFLEET_REDIS_TLS_CA_FILE,
      SIMFLEET_REDIS_TLS_CERT_FILE,
      SIMFLEET_REDIS_TLS_KEY_FILE,
    };
    const { tls } = redisOf(env);
    expect(tls).toMatchObject({ ca: authority.cert, cert: client.cert });
    expect(tls?.key?.reveal()).toBe(client.key.trimEnd());
  });

  it("TLS settings are refused with redis://, which does not encrypt", () => {
    expect(problemsOf({ SIMFLEET_REDIS_URL: "redis://localhost", SIMFLEET_REDIS_TLS_CA_FILE })).toEqual([
      "SIMFLEET_REDIS_TLS_CA_FILE: needs TLS: give redis.url as rediss:// instead of redis://.",
    ]);
  });

  it("TLS for Redis refuses a certificate without its key and a key that others can read", () => {
    expect(problemsOf({ SIMFLEET_REDIS_URL, SIMFLEET_REDIS_TLS_CERT_FILE })).toEqual([
      "SIMFLEET_REDIS_TLS_CERT_FILE: A client certificate needs both redis.tls.certFile and redis.tls.keyFile.",
    ]);
    const open = fileOf(client.key, 0o644);
    const env = { SIMFLEET_REDIS_URL, SIMFLEET_REDIS_TLS_CERT_FILE, SIMFLEET_REDIS_TLS_KEY_FILE: open };
    expect(problemsOf(env)).toEqual([
      `SIMFLEET_REDIS_TLS_KEY_FILE: ${open} can be read by others (mode 0644). Fix it with: chmod 600 ${open}`,
    ]);
  });

  it("TLS for Redis refuses a key of another certificate without quoting it", () => {
    const other = authority.issue("other");
    const env = {
      SIMFLEET_REDIS_URL,
      SIMFLEET_REDIS_TLS_CERT_FILE,
      SIMFLEET_REDIS_TLS_KEY_FILE: fileOf(other.key),
    };
    const problems = problemsOf(env);
    expect(problems).toEqual([expect.stringMatching(/^SIMFLEET_REDIS_TLS_CERT_FILE: The certificates or the key /)]);
    expect(problems.join("")).not.toContain(other.key.split("\n")[1]);
  });
});
