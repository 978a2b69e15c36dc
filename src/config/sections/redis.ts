/** How to connect to Redis: the address, and the TLS and password settings that complement it. */
import { createSecureContext } from "node:tls";
import { messageOf, type Problem } from "#core/errors.ts";
import { isLoopback } from "#core/loopback.ts";
import { Secret } from "#core/secret.ts";
import { parseRedisUrl, type RedisUrl } from "./redis-url.ts";
import type { SettingId } from "../schema.ts";
import { readSecretFile } from "../secrets/secret-file.ts";
import { readTextFile } from "../file/text-file.ts";
import type { Values } from "../read-settings.ts";

export interface RedisTls {
  /** PEM; absent: the authorities that Node.js knows. */
  readonly ca: string | undefined;
  readonly cert: string | undefined;
  readonly key: Secret | undefined;
}

export interface RedisConfig {
  readonly host: string;
  readonly port: number;
  readonly username: string | undefined;
  readonly password: Secret | undefined;
  readonly database: number;
  /** Absent: the connection is not encrypted. */
  readonly tls: RedisTls | undefined;
  /** For people, `rediss://name@host:6380/1`: it never holds a password. */
  readonly address: string;
}

/** What takes the faults, and what works but not as it may have been meant. */
interface Report {
  readonly problems: Problem[];
  readonly warnings: Problem[];
}

const besideUrl = [
  "redisUsername",
  "redisPassword",
  "redisTlsCaFile",
  "redisTlsCertFile",
  "redisTlsKeyFile",
] as const satisfies readonly SettingId[];

/** @returns undefined where no address is given, which means the embedded server, or where it is faulty */
export function readRedis(values: Values, { problems, warnings }: Report): RedisConfig | undefined {
  const written = values.get("redisUrl");
  const whereOf = (id: SettingId): string => values.whereOf(id) ?? id;
  const username = values.get("redisUsername");
  const password = values.getSecret("redisPassword");
  if (written === undefined) {
    for (const id of values.whereOf("redisUrl") === undefined ? besideUrl : []) {
      if (values.whereOf(id) === undefined) continue;
      problems.push({ where: whereOf(id), message: "is set without redis.url (SIMFLEET_REDIS_URL)." });
    }
    return undefined;
  }
  const url = parseRedisUrl(written);
  if ("fault" in url) {
    problems.push({ where: whereOf("redisUrl"), message: url.fault });
    return undefined;
  }
  if (url.password !== undefined && values.whereOf("redisPassword") !== undefined) {
    const message = "is set, and redis.url has a password too. Keep one of them.";
    problems.push({ where: whereOf("redisPassword"), message });
  }
  if (url.username !== undefined && username !== undefined && url.username !== username) {
    const message = "differs from the user name in redis.url. Keep one of them.";
    problems.push({ where: whereOf("redisUsername"), message });
  }
  const name = url.username ?? username;
  const hasPassword = url.password !== undefined || values.whereOf("redisPassword") !== undefined;
  if (name !== undefined && !hasPassword) {
    const where = url.username === undefined ? whereOf("redisUsername") : whereOf("redisUrl");
    problems.push({ where, message: "names a user without a password: set redis.passwordFile as well." });
  }
  const tls = readTls(values, url, problems);
  if (!url.isTls && !isLoopback(url.host)) {
    const message = `is not encrypted on its way to ${url.host}: passwords and data can be read on the network. Use rediss:// (TLS).`;
    warnings.push({ where: whereOf("redisUrl"), message });
  }
  return {
    host: url.host,
    port: url.port,
    username: name,
    password: url.password === undefined ? password : new Secret(url.password),
    database: url.database,
    tls,
    address: addressOf(url, name),
  };
}

function addressOf({ host, port, database, isTls }: RedisUrl, username: string | undefined): string {
  const user = username === undefined ? "" : `${encodeURIComponent(username)}@`;
  const place = host.includes(":") ? `[${host}]` : host;
  const suffix = database === 0 ? "" : `/${database}`;
  return `${isTls ? "rediss" : "redis"}://${user}${place}:${port}${suffix}`;
}

function readTls(values: Values, { isTls }: RedisUrl, problems: Problem[]): RedisTls | undefined {
  const ids = ["redisTlsCaFile", "redisTlsCertFile", "redisTlsKeyFile"] as const;
  const given = ids.filter((id) => values.whereOf(id) !== undefined);
  const faultsBefore = problems.length;
  for (const id of isTls ? [] : given) {
    const where = values.whereOf(id) ?? id;
    problems.push({ where, message: "needs TLS: give redis.url as rediss:// instead of redis://." });
  }
  if (!isTls) return undefined;
  const ca = readPem("redisTlsCaFile", values, problems);
  const cert = readPem("redisTlsCertFile", values, problems);
  const key = readKey(values, problems);
  if (given.includes("redisTlsCertFile") !== given.includes("redisTlsKeyFile")) {
    const where = values.whereOf("redisTlsCertFile") ?? values.whereOf("redisTlsKeyFile") ?? "redis.tls";
    problems.push({ where, message: "A client certificate needs both redis.tls.certFile and redis.tls.keyFile." });
  }
  if (problems.length > faultsBefore) return undefined;
  try {
    createSecureContext({ ca, cert, key: key?.reveal() });
  } catch (thrown) {
    const message = `The certificates or the key cannot be used: ${messageOf(thrown)}. All are PEM files, the key without a passphrase.`;
    problems.push({ where: values.whereOf(given[0] ?? "redisTlsCaFile") ?? "redis.tls", message });
    return undefined;
  }
  return { ca, cert, key };
}

function readPem(id: "redisTlsCaFile" | "redisTlsCertFile", values: Values, problems: Problem[]): string | undefined {
  const file = values.get(id);
  if (file === undefined) return undefined;
  const where = values.whereOf(id) ?? id;
  const read = readTextFile(file);
  if ("text" in read && read.text.includes("-----BEGIN CERTIFICATE-----")) return read.text;
  const notPem = `${file} is not a PEM file of a certificate (-----BEGIN CERTIFICATE-----).`;
  problems.push({ where, message: "fault" in read ? read.fault : notPem });
  return undefined;
}

function readKey(values: Values, problems: Problem[]): Secret | undefined {
  const file = values.get("redisTlsKeyFile");
  if (file === undefined) return undefined;
  const read = readSecretFile(file);
  if ("secret" in read) return new Secret(read.secret);
  problems.push({ where: values.whereOf("redisTlsKeyFile") ?? "redis.tls.keyFile", message: read.fault });
  return undefined;
}
