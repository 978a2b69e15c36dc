/**
 * How to connect to Redis: the address, `redis://` or `rediss://` (TLS) for one server and with `+sentinel` or
 * `+cluster` several addresses, and the TLS and password settings that complement it. No message quotes an address,
 * since any part of it may be a password.
 */
import { createSecureContext } from "node:tls";
import { z } from "zod";
import { messageOf } from "#core/errors.ts";
import { isLoopback } from "#core/loopback.ts";
import { Secret } from "#core/secrets/secret.ts";
import type { Report } from "../report.ts";
import { readPem, readSecretFile } from "../secrets/secret-file.ts";
import { group, secret, secretOf, setting } from "../setting.ts";
import { expecting, path, text } from "../value-types.ts";

export const redisSection = group({
  url: setting(
    // parseRedisUrl says more than that it is wrong.
    expecting("an address such as `redis://host:6379` or `rediss://host:6380/1`", z.string()).optional(),
    "Redis 6.2 or newer, shared by all workers: `rediss://name@host:6380/1`, `redis+sentinel://host:26379,host2:26379/NAME` or `redis+cluster://host:6379,host2:6379` (docs/redis.md). `rediss` is TLS; name, port and database may be left out, and a password in it is better kept in a file.",
    { fallback: "an embedded server", hidden: true },
  ),
  username: setting(
    text().optional(),
    "ACL user for `redis.url`. If the URL also contains a user name, the two must match. Requires a password.",
    { fallback: "the one of `redis.url`, else Redis's `default`" },
  ),
  ...secret("password", text(), {
    description: "Password for `redis.url`. Do not also put a password into the URL.",
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
export function readRedis(written: Written, report: Report) {
  if (written.url === undefined) {
    if (report.isGiven("redis.url")) return undefined;
    for (const at of ["redis.username", "redis.password", ...sentinelPaths, ...tlsPaths]) {
      if (report.isGiven(at)) report.fault(at, "is set without redis.url (SIMFLEET_REDIS_URL).");
    }
    return undefined;
  }
  const url = parseRedisUrl(written.url);
  if ("fault" in url) {
    report.fault("redis.url", url.fault);
    return undefined;
  }
  checkUser(written, url, report);
  checkSentinel(written, url, report);
  const open = url.isTls ? [] : url.addresses.filter(({ host }) => !isLoopback(host)).map(({ host }) => host);
  if (open.length > 0) {
    const message = `is not encrypted on its way to ${open.join(", ")}: passwords and data can be read on the network. Use ${toScheme({ ...url, isTls: true })}:// (TLS).`;
    report.warn("redis.url", message);
  }
  const { isTls: _, ...place } = url;
  const username = url.username ?? written.username;
  return {
    ...place,
    username,
    password: secretOf(url.password ?? written.password),
    /** For Sentinels that ask for a user and password of their own. */
    sentinelUsername: written.sentinelUsername,
    sentinelPassword: secretOf(written.sentinelPassword),
    /** TLS settings. Absent: the connection is not encrypted. */
    tls: readTls(written.tls, url, report),
    /** For people, `rediss://name@host:6380/1`: it never holds a password. */
    address: shownAddress(url, username),
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

/** The user and the password can be in the address or next to it. */
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

function shownAddress(url: RedisUrl, username: string | undefined): string {
  const user = username === undefined ? "" : `${encodeURIComponent(username)}@`;
  const hosts = url.addresses.map(({ host, port }) => `${host.includes(":") ? `[${host}]` : host}:${port}`);
  const primary = url.primary === undefined ? "" : `/${url.primary}`;
  const database = url.database === 0 ? "" : `/${url.database}`;
  return `${toScheme(url)}://${user}${hosts.join(",")}${primary}${database}`;
}

function toScheme({ topology, isTls }: Pick<RedisUrl, "topology" | "isTls">): string {
  return `${isTls ? "rediss" : "redis"}${topology === "server" ? "" : `+${topology}`}`;
}

function readTls(written: Written["tls"], url: RedisUrl, report: Report) {
  const given = tlsPaths.filter((at) => report.isGiven(at));
  const faultsBefore = report.problems.length;
  if (!url.isTls) {
    const [plain, encrypted] = [url, { ...url, isTls: true }].map(toScheme);
    for (const at of given) report.fault(at, `needs TLS: give redis.url as ${encrypted}:// instead of ${plain}://.`);
    return undefined;
  }
  const ca = readPem("redis.tls.caFile", written.caFile, "certificate", report);
  const cert = readPem("redis.tls.certFile", written.certFile, "certificate", report);
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
  /** PEM; without `ca`, the authorities that Node.js knows. */
  return { ca, cert, key };
}

function readKey(file: string | undefined, report: Report): Secret | undefined {
  if (file === undefined) return undefined;
  const read = readSecretFile(file);
  if ("secret" in read) return new Secret(read.secret);
  report.fault("redis.tls.keyFile", read.fault);
  return undefined;
}

type RedisUrl = Exclude<ReturnType<typeof parseRedisUrl>, { readonly fault: string }>;
type Topology = keyof typeof examples;

const usualPorts = { server: 6379, cluster: 6379, sentinel: 26_379 };
const maxDatabase = 2 ** 31 - 1;
const examples = {
  server: "redis://host:6379 or rediss://host:6380/1",
  sentinel: "redis+sentinel://host:26379,host2:26379/NAME",
  cluster: "redis+cluster://host:6379,host2:6379, without a database",
};

const encoding =
  "Percent-encode special characters of its user name and password (@ as %40, / as %2F, # as %23, ? as %3F, % as %25).";

/** Scheme, user, password, hosts, and what follows them. */
const form = /^redis(s?)(?:\+(sentinel|cluster))?:\/\/(?:([^/?#:@]*)(?::([^/?#@]*))?@)?([^/?#@]+)((?:\/[^/?#]*)*)$/is;

/**
 * @returns the parts, or what the address must be. `addresses` are of the server, of the Sentinels, or of some nodes of
 *   the cluster, IPv6 without brackets; `primary` is the name by which Sentinels know the primary
 */
export function parseRedisUrl(written: string) {
  const [whole, tls, kind = "server", user, pass, hosts = "", rest = ""] = form.exec(written) ?? [];
  const topology = kind.toLowerCase() as Topology;
  const addresses = (topology === "server" ? [hosts] : hosts.split(",")).map((one) => parseAddress(one, topology));
  const place = parsePlace(rest.replace(/\/+$/, ""), topology);
  const login = parseLogin([user, pass]);
  if (whole === undefined || addresses.includes(undefined) || place === undefined || login === undefined) {
    const [, meant = "server"] = /^rediss?\+(sentinel|cluster):/i.exec(written) ?? [];
    const fault = `must be an address such as ${examples[meant.toLowerCase() as Topology]}. ${encoding}`;
    return { fault };
  }
  const known = addresses.filter((address) => address !== undefined);
  return { topology, ...place, ...login, addresses: known, isTls: tls !== "" };
}

/** Parses the part after the hosts: the primary's name and the database. */
function parsePlace(rest: string, topology: Topology) {
  const [, primary, database = "0"] =
    (topology === "sentinel" ? /^\/([A-Za-z0-9._-]+)(?:\/(\d{0,10}))?$/ : /^()\/?(\d{1,10})?$/).exec(rest) ?? [];
  if (primary === undefined || Number(database) > (topology === "cluster" ? 0 : maxDatabase)) return undefined;
  return { primary: primary || undefined, database: Number(database) };
}

/** User name and password; undefined if they are not percent-encoded. */
function parseLogin(parts: readonly (string | undefined)[]) {
  try {
    const [username, password] = parts.map((part) => (part ? decodeURIComponent(part) : undefined));
    return { username, password };
  } catch {
    return undefined;
  }
}

function parseAddress(hostAndPort: string, topology: Topology) {
  // URL takes apart what has a scheme that it knows nothing about.
  const url = URL.parse(`redis://${hostAndPort}`);
  if (url === null || url.hostname === "" || /[%,\s]/.test(url.hostname)) return undefined;
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: url.port === "" ? usualPorts[topology] : Number(url.port),
  };
}
