/**
 * The one place that parses the address of Redis: `redis://` or `rediss://` (TLS) for one server, and with `+sentinel` or
 * `+cluster` several addresses. Other modules receive the parts. All problems of an address are found at once, and none
 * of their texts quotes it, since any part of it may be a password.
 */

/** How Redis is run: one server, a primary that Sentinels name, or a cluster. */
export type RedisTopology = "server" | "sentinel" | "cluster";

export interface RedisAddress {
  /** Without the brackets of an IPv6 address. */
  readonly host: string;
  readonly port: number;
}

/** The parts of an address. */
export interface RedisUrl {
  readonly topology: RedisTopology;
  /** The server; or the Sentinels; or some nodes of the cluster. */
  readonly addresses: readonly RedisAddress[];
  /** The name by which Sentinels know the primary. */
  readonly primary: string | undefined;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly database: number;
  readonly isTls: boolean;
}

type Faults = { readonly faults: readonly string[] };

const usualPorts = { server: 6379, cluster: 6379, sentinel: 26_379 };
const maxDatabase = 2 ** 31 - 1;
const examples = {
  server: "such as redis://host:6379 or rediss://host:6380/1",
  sentinel: "such as redis+sentinel://host:26379,host2:26379/NAME",
  cluster: "such as redis+cluster://host:6379,host2:6379",
};
const encoding =
  "Percent-encode special characters of its user name and password (@ as %40, / as %2F, # as %23, ? as %3F, % as %25).";

/** @returns the parts, or the problems of the address */
export function parseRedisUrl(written: string): RedisUrl | Faults {
  const found = /^([A-Za-z][A-Za-z0-9+.-]*):\/\/([^/?#]*)([^?#]*)(\?[^#]*)?(#.*)?$/s.exec(written);
  if (found === null) return { faults: [`must be an address ${examples.server}.`] };
  const [, given = "", authority = "", path = "", query = "", fragment] = found;
  const scheme = /^redis(s?)(?:\+(sentinel|cluster))?$/.exec(given.toLowerCase());
  if (scheme === null) {
    const known = "Use redis://, redis+sentinel:// or redis+cluster://; rediss instead of redis is TLS.";
    return { faults: [`has the scheme ${given.toLowerCase()}://, which is not supported. ${known}`] };
  }
  const topology = (scheme[2] ?? "server") as RedisTopology;
  const faults: string[] = [];
  if (fragment !== undefined) faults.push(`has a part after #. ${encoding}`);
  const at = authority.lastIndexOf("@");
  const login = loginOf(authority.slice(0, Math.max(at, 0)));
  if (login === undefined) faults.push(encoding);
  const hosts = authority.slice(at + 1);
  const addresses = (topology === "server" ? [hosts] : hosts.split(",")).map((host) => addressOf(host, topology));
  if (addresses.includes(undefined)) faults.push(hostFault(topology));
  if (query !== "")
    faults.push(
      "has a part after ?, which is not supported: the database follows the hosts, as in redis://host:6379/1.",
    );
  const { primary, database } = placeOf(topology, path, faults);
  if (faults.length > 0) return { faults };
  return {
    topology,
    primary,
    database,
    isTls: scheme[1] === "s",
    addresses: addresses.filter((address) => address !== undefined),
    username: login?.username,
    password: login?.password,
  };
}

function hostFault(topology: RedisTopology): string {
  if (topology === "server") return `names no valid host or port; use an address ${examples.server}. ${encoding}`;
  return `names a host or port that is not valid; use an address ${examples[topology]}. ${encoding}`;
}

/** User name and password; undefined if they are not percent-encoded. */
function loginOf(text: string): { username: string | undefined; password: string | undefined } | undefined {
  const colon = text.indexOf(":");
  const parts = colon === -1 ? [text] : [text.slice(0, colon), text.slice(colon + 1)];
  if (text.includes("@")) return undefined;
  try {
    const [username, password] = parts.map((part) => (part === "" ? undefined : decodeURIComponent(part)));
    return { username, password };
  } catch {
    return undefined;
  }
}

function addressOf(text: string, topology: RedisTopology): RedisAddress | undefined {
  // URL takes apart what has a scheme that it knows nothing about.
  const url = URL.parse(`redis://${text}`);
  if (url === null || url.hostname === "" || url.hostname.includes("%") || url.username !== "") return undefined;
  if (/[,\s]/.test(url.hostname)) return undefined;
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: url.port === "" ? usualPorts[topology] : Number(url.port),
  };
}

/** What follows the hosts: the name of the primary, and the database. */
function placeOf(
  topology: RedisTopology,
  path: string,
  faults: string[],
): { primary: string | undefined; database: number } {
  const segments = path.split("/").filter((segment, i) => i > 0 && segment !== "");
  const primary = topology === "sentinel" ? nameOf(segments.shift(), faults) : undefined;
  const text = segments.join("/") || "0";
  const isNumber = /^[0-9]{1,10}$/.test(text) && Number(text) <= maxDatabase;
  if (!isNumber) faults.push("names a database that is not a number, as in redis://host:6379/1.");
  else if (topology === "cluster" && Number(text) !== 0) {
    faults.push("names a database, and a cluster has only database 0. Leave it out.");
  }
  return { primary, database: Number(text) };
}

/** Redis allows these characters in the name of a primary. */
function nameOf(text: string | undefined, faults: string[]): string | undefined {
  if (text !== undefined && /^[A-Za-z0-9._-]+$/.test(text)) return text;
  faults.push(
    text === undefined
      ? `does not name the primary; the name that the Sentinels know follows the hosts, ${examples.sentinel}.`
      : "has a name of the primary with other characters than letters, digits, dots, - and _.",
  );
  return undefined;
}
