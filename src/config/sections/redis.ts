/** How to connect to Redis: the address, and the TLS and password settings that complement it. */
import { createSecureContext } from "node:tls";
import { z } from "zod";
import { messageOf } from "#core/errors.ts";
import { isLoopback } from "#core/loopback.ts";
import { Secret } from "#core/secret.ts";
import { parseRedisUrl, type RedisUrl } from "./redis-url.ts";
import type { Report } from "../report.ts";
import { readSecretFile } from "../secrets/secret-file.ts";
import { group, secret, secretOf, setting } from "../setting.ts";
import { readPem } from "../file/pem-file.ts";
import { expecting, path, text } from "../value-types.ts";

export interface RedisTls {
  /** PEM; absent: the authorities that Node.js knows. */
  readonly ca: string | undefined;
  readonly cert: string | undefined;
  readonly key: Secret | undefined;
}

export interface RedisConfig extends Omit<RedisUrl, "password" | "isTls"> {
  readonly password: Secret | undefined;
  /** For Sentinels that ask for a password of their own. */
  readonly sentinelUsername: string | undefined;
  readonly sentinelPassword: Secret | undefined;
  /** Absent: the connection is not encrypted. */
  readonly tls: RedisTls | undefined;
  /** For people, `rediss://name@host:6380/1`: it never holds a password. */
  readonly address: string;
}

export const redisSection = group({
  url: setting(
    // parseRedisUrl says more than that it is wrong.
    expecting("an address such as `redis://host:6379` or `rediss://host:6380/1`", z.string()).optional(),
    "Redis 6.2 or newer, shared by all workers: `rediss://name@host:6380/1`, `redis+sentinel://host:26379,host2:26379/NAME` or `redis+cluster://host:6379,host2:6379` ([redis.md](redis.md)). `rediss` is TLS; name, port and database may be left out, and a password in it is better kept in a file.",
    { fallback: "an embedded server", hidden: true },
  ),
  username: setting(
    text().optional(),
    "ACL user for `redis.url`; given in both, the two must be the same. It needs a password.",
    { fallback: "the one of `redis.url`, else Redis's `default`" },
  ),
  ...secret("password", text(), {
    description: "Password for `redis.url`; must not be given in both.",
  }),
  sentinelUsername: setting(
    text().optional(),
    "ACL user for the Sentinels of `redis.url`, where they ask for one. It needs a password.",
    { fallback: "Redis's `default`" },
  ),
  ...secret("sentinelPassword", text(), {
    description:
      "Password for the Sentinels of `redis.url`. The user and password of the primary are not sent to them.",
  }),
  tls: group({
    caFile: setting(path.optional(), "PEM file of the authorities that sign the certificate of a `rediss://` server.", {
      fallback: "the authorities that Node.js knows",
    }),
    certFile: setting(
      path.optional(),
      "PEM file of the client certificate, where the `rediss://` server asks for one.",
    ),
    keyFile: setting(
      path.optional(),
      "PEM file of the client certificate's key, without a passphrase; only its owner may be able to read it.",
    ),
  }),
});

type Written = z.output<typeof redisSection>;

const sentinelPaths = ["redis.sentinelUsername", "redis.sentinelPassword"] as const;
const tlsPaths = ["redis.tls.caFile", "redis.tls.certFile", "redis.tls.keyFile"] as const;

/** @returns undefined where no address is given, which means the embedded server, or where it is faulty */
export function readRedis(written: Written, report: Report): RedisConfig | undefined {
  if (written.url === undefined) {
    if (report.isGiven("redis.url")) return undefined;
    for (const at of ["redis.username", "redis.password", ...sentinelPaths, ...tlsPaths]) {
      if (report.isGiven(at)) report.fault(at, "is set without redis.url (SIMFLEET_REDIS_URL).");
    }
    return undefined;
  }
  const url = parseRedisUrl(written.url);
  if ("faults" in url) {
    for (const fault of url.faults) report.fault("redis.url", fault);
    return undefined;
  }
  checkUser(written, url, report);
  checkSentinel(written, url, report);
  const open = url.isTls ? [] : url.addresses.filter(({ host }) => !isLoopback(host)).map(({ host }) => host);
  if (open.length > 0) {
    const message = `is not encrypted on its way to ${open.join(", ")}: passwords and data can be read on the network. Use ${schemeOf({ ...url, isTls: true })}:// (TLS).`;
    report.warn("redis.url", message);
  }
  const { password, isTls: _, ...place } = url;
  const username = url.username ?? written.username;
  return {
    ...place,
    username,
    password: secretOf(password ?? written.password),
    sentinelUsername: written.sentinelUsername,
    sentinelPassword: secretOf(written.sentinelPassword),
    tls: readTls(written.tls, url, report),
    address: addressOf(url, username),
  };
}

function checkSentinel({ sentinelUsername }: Written, { topology }: RedisUrl, report: Report): void {
  if (topology !== "sentinel") {
    for (const at of sentinelPaths) {
      if (report.isGiven(at)) report.fault(at, "needs Sentinels: redis.url is not a redis+sentinel:// address.");
    }
  } else if (sentinelUsername !== undefined && !report.isGiven("redis.sentinelPassword")) {
    report.fault("redis.sentinelUsername", "names a user without a password: set redis.sentinelPasswordFile as well.");
  }
}

/** The user and the password can be in the address or beside it. */
function checkUser({ username }: Written, url: RedisUrl, report: Report): void {
  const hasPassword = report.isGiven("redis.password");
  if (url.password !== undefined && hasPassword) {
    report.fault("redis.password", "is set, and redis.url has a password too. Keep one of them.");
  }
  if (url.username !== undefined && username !== undefined && url.username !== username) {
    report.fault("redis.username", "differs from the user name in redis.url. Keep one of them.");
  }
  if ((url.username ?? username) !== undefined && url.password === undefined && !hasPassword) {
    const at = url.username === undefined ? "redis.username" : "redis.url";
    report.fault(at, "names a user without a password: set redis.passwordFile as well.");
  }
}

function addressOf(url: RedisUrl, username: string | undefined): string {
  const user = username === undefined ? "" : `${encodeURIComponent(username)}@`;
  const hosts = url.addresses.map(({ host, port }) => `${host.includes(":") ? `[${host}]` : host}:${port}`);
  const primary = url.primary === undefined ? "" : `/${url.primary}`;
  const database = url.database === 0 ? "" : `/${url.database}`;
  return `${schemeOf(url)}://${user}${hosts.join(",")}${primary}${database}`;
}

function schemeOf({ topology, isTls }: Pick<RedisUrl, "topology" | "isTls">): string {
  return `${isTls ? "rediss" : "redis"}${topology === "server" ? "" : `+${topology}`}`;
}

function readTls(written: Written["tls"], url: RedisUrl, report: Report): RedisTls | undefined {
  const given = tlsPaths.filter((at) => report.isGiven(at));
  const faultsBefore = report.problems.length;
  if (!url.isTls) {
    const [plain, encrypted] = [url, { ...url, isTls: true }].map(schemeOf);
    for (const at of given) report.fault(at, `needs TLS: give redis.url as ${encrypted}:// instead of ${plain}://.`);
    return undefined;
  }
  const ca = readPem("redis.tls.caFile", written.caFile, { kind: "certificate", report });
  const cert = readPem("redis.tls.certFile", written.certFile, { kind: "certificate", report });
  const key = readKey(written.keyFile, report);
  if (given.includes("redis.tls.certFile") !== given.includes("redis.tls.keyFile")) {
    const at = report.isGiven("redis.tls.certFile") ? "redis.tls.certFile" : "redis.tls.keyFile";
    report.fault(at, "A client certificate needs both redis.tls.certFile and redis.tls.keyFile.");
  }
  if (report.problems.length > faultsBefore) return undefined;
  try {
    createSecureContext({ ca, cert, key: key?.reveal() });
  } catch (thrown) {
    const message = `The certificates or the key cannot be used: ${messageOf(thrown)}. All are PEM files, the key without a passphrase.`;
    report.fault(given[0] ?? "redis.tls", message);
    return undefined;
  }
  return { ca, cert, key };
}

function readKey(file: string | undefined, report: Report): Secret | undefined {
  if (file === undefined) return undefined;
  const read = readSecretFile(file);
  if ("secret" in read) return new Secret(read.secret);
  report.fault("redis.tls.keyFile", read.fault);
  return undefined;
}
