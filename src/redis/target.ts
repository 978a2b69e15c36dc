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

/** How Redis is run: one server, a primary that Sentinels name, or a cluster. */
export type Topology = "server" | "sentinel" | "cluster";

/** Redis on the network. */
export interface RemoteTarget {
  readonly topology: Topology;
  /** The server; or the Sentinels; or some nodes of the cluster. */
  readonly addresses: readonly RedisAddress[];
  /** The name by which the Sentinels know the primary. */
  readonly primary?: string | undefined;
  readonly database?: number | undefined;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly sentinelUsername?: string | undefined;
  readonly sentinelPassword?: string | undefined;
  /** TLS settings. Absent: the connection is not encrypted. */
  readonly tls?: RedisTlsOptions | undefined;
}

/** The location of Redis: on the network, on a local socket, or embedded. */
export type RedisTarget =
  | RemoteTarget
  | { readonly socketPath: string; readonly password?: string | undefined }
  | { readonly embedded: EmbeddedRedis };

export function topologyOf(target: RedisTarget): Topology {
  return "topology" in target ? target.topology : "server";
}

/** For messages: without a password. */
export function placeOf(target: RedisTarget): string {
  if (!("topology" in target)) return "embedded" in target ? target.embedded.socketPath : target.socketPath;
  const hosts = target.addresses.map(addressText).join(", ");
  return target.topology === "sentinel" ? `${target.primary} of the Sentinels ${hosts}` : hosts;
}

export function addressText({ host, port }: RedisAddress): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}
