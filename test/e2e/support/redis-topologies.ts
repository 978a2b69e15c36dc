/**
 * Redis as operators run it: a primary with a replica and three Sentinels, and a cluster of three primaries. The
 * servers are processes of the harness, each with a folder of its own below the harness's, and end with it at the
 * latest.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Redis } from "ioredis";
import { until } from "../../support/until.ts";
import type { RunningProcess } from "./process.ts";
import { type RedisOnPort, type ServerHost, freePort, startRedis, startServerProgram } from "./redis-server.ts";

/** A server that takes over after 1 s: tests wait for it. */
const downAfterMs = 1_000;
export const primaryName = "fleet-1";

export interface Member extends RedisOnPort {
  readonly redis: Redis;
  /** Kills the server. */
  kill(): Promise<void>;
  /** Starts it again with its data, as its configuration was at first. */
  restart(): Promise<Member>;
}

export interface MemberOptions {
  readonly args?: readonly string[];
  /** Options with which the test itself connects. */
  readonly connection?: { readonly tls?: { readonly ca: string; readonly cert: string; readonly key: string } };
}

async function startMember(
  harness: ServerHost,
  name: string,
  options: MemberOptions & { readonly port?: number } = {},
): Promise<Member> {
  const { port = await freePort(), args = [], connection = {} } = options;
  const folder = join(harness.folder, name);
  await mkdir(folder, { recursive: true });
  const listen = connection.tls === undefined ? ["--port", `${port}`] : ["--port", "0", "--tls-port", `${port}`];
  const server = await startRedis(harness, port, [...listen, ...args], { folder });
  const redis = new Redis({ host: "127.0.0.1", port, maxRetriesPerRequest: null, ...connection });
  redis.on("error", () => undefined);
  const kill = async (): Promise<void> => {
    redis.disconnect();
    server.process.kill("SIGKILL");
    await server.process.ended;
  };
  return {
    ...server,
    redis,
    kill,
    restart: () => startMember(harness, name, { ...options, port }),
    [Symbol.asyncDispose]: kill,
  };
}

export interface SentinelOptions extends MemberOptions {
  /** Lines of each Sentinel's configuration. */
  readonly sentinelLines?: readonly string[];
  readonly scheme?: string;
  readonly sentinelConnection?: { readonly username?: string; readonly password?: string };
}

/** Starts a primary, a replica and three Sentinels that know each other. */
export async function redisWithSentinels(harness: ServerHost, options: SentinelOptions = {}) {
  const { args = [], sentinelLines = [], connection = {}, scheme = "redis+sentinel" } = options;
  const primary = await startMember(harness, "primary", options);
  const replicaof = ["--replicaof", `127.0.0.1 ${primary.port}`, "--repl-diskless-sync-delay", "0"];
  const replica = await startMember(harness, "replica", { ...options, args: [...args, ...replicaof] });
  await until("the replica is in sync", async () => (await replica.redis.info()).includes("master_link_status:up"));
  /** Connections to the Sentinels. */
  const asked: Redis[] = [];
  const sentinels: RunningProcess[] = [];
  const ports = await Promise.all([0, 1, 2].map(() => freePort()));
  for (const port of ports) {
    const folder = join(harness.folder, `sentinel-${port}`);
    await mkdir(folder);
    const lines = [
      connection.tls === undefined ? `port ${port}` : `port 0\ntls-port ${port}`,
      "bind 127.0.0.1",
      `dir ${folder}`,
      ...sentinelLines,
      `sentinel monitor ${primaryName} 127.0.0.1 ${primary.port} 2`,
      `sentinel down-after-milliseconds ${primaryName} ${downAfterMs}`,
      `sentinel failover-timeout ${primaryName} 5000`,
    ];
    await writeFile(join(folder, "sentinel.conf"), `${lines.join("\n")}\n`);
    sentinels.push(await startServerProgram(harness, [join(folder, "sentinel.conf"), "--sentinel"]));
    const redis = new Redis({
      host: "127.0.0.1",
      port,
      maxRetriesPerRequest: null,
      enableReadyCheck: false,
      ...connection,
      ...options.sentinelConnection,
    });
    redis.on("error", () => undefined);
    asked.push(redis);
  }
  const know = async (redis: Redis): Promise<boolean> => {
    const info = await redis.info();
    return info.includes("status=ok") && info.includes("slaves=1,sentinels=3");
  };
  await until("the Sentinels know each other", async () => (await Promise.all(asked.map(know))).every(Boolean));
  const primaryPort = async (): Promise<number> => {
    const answers = asked.map((redis) => redis.call("SENTINEL", "GET-MASTER-ADDR-BY-NAME", primaryName));
    const named = new Set((await Promise.all(answers)).map((answer) => Number((answer as string[])[1])));
    return named.size === 1 ? ([...named][0] ?? 0) : 0;
  };
  return {
    primary,
    replica,
    asked,
    /** For SIMFLEET_REDIS_URL. */
    url: `${scheme}://${ports.map((port) => `127.0.0.1:${port}`).join(",")}/${primaryName}`,
    /** Resolves once the primary has another port than this one. */
    untilPromoted: async (before: number): Promise<void> => {
      const isPromoted = async (): Promise<boolean> => ![0, before].includes(await primaryPort());
      // A Sentinel that a busy machine has delayed by two seconds (TILT) does nothing for 30 s.
      await until("the Sentinels have promoted the replica", isPromoted, 90_000);
    },
    [Symbol.asyncDispose]: async () => {
      for (const redis of asked) redis.disconnect();
      for (const running of sentinels) running.kill("SIGKILL");
      await Promise.all(sentinels.map(({ ended }) => ended));
      await Promise.all([primary.kill(), replica.kill()]);
    },
  };
}

export interface ClusterSetOptions extends MemberOptions {
  readonly scheme?: string;
  /** Adds a replica of the node that has the keys. */
  readonly withReplica?: boolean;
}

/** Starts three primaries that share the slots. */
export async function redisCluster(harness: ServerHost, options: ClusterSetOptions = {}) {
  const { args = [], scheme = "redis+cluster", withReplica = false } = options;
  const nodes: Member[] = [];
  const buses: number[] = [];
  const start = async (name: string): Promise<Member> => {
    const bus = await freePort();
    buses.push(bus);
    const ofCluster = ["--cluster-enabled", "yes", "--cluster-node-timeout", `${downAfterMs}`];
    const replication = ["--cluster-port", `${bus}`, "--repl-diskless-sync-delay", "0"];
    return startMember(harness, name, { ...options, args: [...ofCluster, ...replication, ...args] });
  };
  for (const name of ["node-1", "node-2", "node-3", ...(withReplica ? ["node-4"] : [])]) nodes.push(await start(name));
  const primaries = nodes.slice(0, 3);
  const ranges = [
    [0, 5_460],
    [5_461, 10_922],
    [10_923, 16_383],
  ] as const;
  for (const [i, { redis }] of primaries.entries()) {
    const [from, to] = ranges[i] ?? [0, 0];
    await redis.call("CLUSTER", "ADDSLOTSRANGE", from, to);
    await redis.call("CLUSTER", "SET-CONFIG-EPOCH", i + 1);
  }
  const [first, ...others] = nodes;
  if (first === undefined) throw new Error("there is no node");
  for (const [i, { port }] of others.entries()) {
    await first.redis.call("CLUSTER", "MEET", "127.0.0.1", port, buses[i + 1] ?? 0);
  }
  /** The node that has the keys of simfleet. */
  const holder = async (): Promise<Member> => {
    for (const node of nodes) {
      const role = node.redis.status === "ready" ? await node.redis.call("ROLE").catch(() => []) : [];
      const slots = (role as string[])[0] === "master" && (await node.redis.exists("{simfleet}:x").catch(() => -1));
      if (slots === 0) return node;
    }
    throw new Error("no node has the slot");
  };
  await until("the cluster is up", () => isUp(nodes));
  if (withReplica) {
    const id = String(await (await holder()).redis.call("CLUSTER", "MYID"));
    const replica = others[2];
    await replica?.redis.call("CLUSTER", "REPLICATE", id);
    await until("the replica is in sync", async () =>
      String(await replica?.redis.info()).includes("master_link_status:up"),
    );
    const known = async ({ redis }: Member): Promise<boolean> =>
      String(await redis.call("CLUSTER", "NODES")).includes("slave");
    await until("all know the replica", async () => (await Promise.all(nodes.map(known))).every(Boolean));
  }
  return {
    nodes,
    holder,
    /** For SIMFLEET_REDIS_URL. */
    url: `${scheme}://${nodes.map(({ port }) => `127.0.0.1:${port}`).join(",")}`,
    [Symbol.asyncDispose]: async () => {
      await Promise.all(nodes.map((node) => node.kill()));
    },
  };
}

async function isUp(nodes: readonly Member[]): Promise<boolean> {
  const states = nodes.map(async ({ redis }) => {
    const info = String(await redis.call("CLUSTER", "INFO"));
    return info.includes("cluster_state:ok") && info.includes(`cluster_known_nodes:${nodes.length}`);
  });
  return (await Promise.all(states)).every(Boolean);
}
