/** Where Redis is, and how to log in. */
import type { EmbeddedRedis } from "./embedded/embedded.ts";

/** PEM texts; without `ca`, the certificate authorities built into Node.js are used. */
export interface RedisTlsOptions {
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

export interface RedisAddress {
  /** A host name or address; an IPv6 address without brackets. */
  readonly host: string;
  readonly port: number;
}

interface RedisLogin {
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  /** TLS settings. Absent: the connection is not encrypted. */
  readonly tls?: RedisTlsOptions | undefined;
}

/** One server. */
export interface RedisServerTarget extends RedisAddress, RedisLogin {
  readonly database?: number | undefined;
}

/** A primary that fails over to a replica; the Sentinels know which server it is. */
export interface RedisSentinelTarget extends RedisLogin {
  readonly sentinels: readonly RedisAddress[];
  /** The name by which the Sentinels know the primary. */
  readonly primary: string;
  readonly database?: number | undefined;
  readonly sentinelUsername?: string | undefined;
  readonly sentinelPassword?: string | undefined;
}

/** A cluster; some of its nodes, which know the others. */
export interface RedisClusterTarget extends RedisLogin {
  readonly nodes: readonly RedisAddress[];
}

/** Redis on the network. */
export type RemoteTarget = RedisServerTarget | RedisSentinelTarget | RedisClusterTarget;

/** The location of Redis: on the network, on a local socket, or embedded. */
export type RedisTarget =
  | RemoteTarget
  | { readonly socketPath: string; readonly password?: string | undefined }
  | { readonly embedded: EmbeddedRedis };

/** How Redis is run. */
export type Topology = "server" | "sentinel" | "cluster";

export function topologyOf(target: RedisTarget): Topology {
  if ("sentinels" in target) return "sentinel";
  return "nodes" in target ? "cluster" : "server";
}

/** For messages: without a password. */
export function placeOf(target: RedisTarget): string {
  if ("embedded" in target) return target.embedded.socketPath;
  if ("socketPath" in target) return target.socketPath;
  if ("sentinels" in target)
    return `${target.primary} of the Sentinels ${target.sentinels.map(addressText).join(", ")}`;
  return "nodes" in target ? target.nodes.map(addressText).join(", ") : addressText(target);
}

export function addressText({ host, port }: RedisAddress): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}
