/**
 * The one place that parses the address of Redis: `redis://` or `rediss://` (TLS), with user name, password, host, port
 * and database. Other modules receive the parts. No error quotes the address, since any part of it may be a password.
 */

/** The parts of an address. */
export interface RedisUrl {
  /** Without the brackets of an IPv6 address. */
  readonly host: string;
  readonly port: number;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly database: number;
  readonly isTls: boolean;
}

const usualPort = 6379;
const mostDatabase = 2 ** 31 - 1;
const example = "such as redis://host:6379 or rediss://host:6380/1";

/** @returns the parts, or the problem of the address */
export function parseRedisUrl(written: string): RedisUrl | { readonly fault: string } {
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):\/\//.exec(written)?.[1]?.toLowerCase();
  if (scheme === undefined) return { fault: `must be an address ${example}.` };
  if (scheme !== "redis" && scheme !== "rediss") {
    return { fault: `has the scheme ${scheme}://, which is not supported. Use redis://, or rediss:// for TLS.` };
  }
  const url = URL.parse(written);
  if (url === null) return { fault: `is not a valid address; it must be one ${example}. ${encoding}` };
  if (url.hostname === "" || url.hostname.includes("%")) return { fault: `names no valid host; use one ${example}.` };
  if (url.hash !== "") return { fault: `has a part after #. ${encoding}` };
  const username = decoded(url.username);
  const password = decoded(url.password);
  if (username === undefined || password === undefined) return { fault: encoding };
  const database = databaseOf(url);
  if (typeof database !== "number") return database;
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: url.port === "" ? usualPort : Number(url.port),
    username: username === "" ? undefined : username,
    password: password === "" ? undefined : password,
    database,
    isTls: scheme === "rediss",
  };
}

const encoding =
  "Percent-encode special characters of its user name and password (@ as %40, / as %2F, # as %23, ? as %3F, % as %25).";

/** The number after the host or of `?db=`. */
function databaseOf(url: URL): number | { readonly fault: string } {
  const unknown = [...url.searchParams.keys()].filter((name) => name !== "db");
  if (unknown.length > 0) return { fault: "has a parameter other than db, which is the only one supported." };
  const inPath = url.pathname.replace(/^\//, "");
  const inQuery = url.searchParams.getAll("db");
  const given = [...new Set([...(inPath === "" ? [] : [inPath]), ...inQuery])];
  if (given.length > 1) return { fault: "names more than one database. Keep one of them." };
  const [text = "0"] = given;
  const isNumber = /^[0-9]{1,10}$/.test(text) && Number(text) <= mostDatabase;
  return isNumber ? Number(text) : { fault: "names a database that is not a number, as in redis://host:6379/1." };
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
