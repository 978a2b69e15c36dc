/**
 * The checks before the first use: Redis is reachable, recent enough, configured to reject writes when full instead of
 * evicting data, and of the kind that its address says. In a cluster every primary is checked.
 */
import { connect } from "node:net";
import type { Cluster, Redis } from "ioredis";
import { SimfleetError, messageOf } from "#core/errors.ts";
import { inTime, secondMs, systemClock } from "#core/time.ts";
import {
  type RedisConnections,
  type RedisAddress,
  type RedisTarget,
  type Topology,
  addressText,
  placeOf,
  topologyOf,
} from "./connection.ts";

const oldestVersion = "6.2";
const firstConnectionMs = 5_000;
/** The embedded server may be stopping after its last process, and is then started again. */
const embeddedMs = 20_000;
const refusalMs = 1_000;

export type RedisFacts = Readonly<Awaited<ReturnType<typeof verifyRedis>>>;

/**
 * Checks that Redis is reachable and suitable.
 * @throws SimfleetError STORE_UNAVAILABLE with the fault and its fix
 */
export async function verifyRedis(connections: RedisConnections) {
  const { target } = connections;
  const topology = topologyOf(target);
  const redis = connections.connect("probe");
  let found: Found;
  try {
    const read = topology === "cluster" ? readCluster(redis) : readServer(redis, target);
    const withinMs = "ensureRunning" in target ? embeddedMs : firstConnectionMs;
    const answer = await inTime(systemClock, withinMs, lastErrorInstead(redis, target, read));
    if (answer === undefined) throw new Error(`no response within ${withinMs / secondMs} s`);
    found = answer.value;
  } catch (thrown) {
    const [server] = "topology" in target && topology === "server" && target.tls === undefined ? target.addresses : [];
    const refusal = server && (await readRefusal(server));
    if (refusal !== undefined) throw unavailable(placeOf(target), `refuses connections: ${refusal}`, thrown);
    throw unavailable(
      placeOf(target),
      `cannot be used: ${messageOf(thrown).replace(/[.]$/, "")}. Check that it is running and that SIMFLEET_REDIS_URL is correct.`,
      thrown,
    );
  } finally {
    redis.disconnect();
  }
  for (const node of found.nodes) checkNode(node, topology);
  const versions = found.nodes.map(({ info }) => describeVersion(info));
  return {
    topology,
    /** Version; of several nodes, the oldest. */
    version: versions.toSorted(byVersion)[0] ?? "unknown",
    /** Whether a replica can take over, with whatever it has received until then. */
    hasReplicas: found.hasReplicas,
    /** Whether Redis can acknowledge that a write is in its append-only file (WAITAOF). */
    acknowledgesFile: found.acknowledgesFile,
    /** Settings that work but put data at risk. */
    warnings: topology === "sentinel" ? found.nodes.flatMap(({ info }) => findWarnings(info)) : [],
  };
}

/** `nodes`: the answers of servers to INFO and, in a cluster, to CLUSTER INFO. */
type Found = Awaited<ReturnType<typeof readCluster>>;

async function readServer(redis: Redis, target: RedisTarget): Promise<Found> {
  const info = await redis.info();
  const acknowledgesFile = valueOf(info, "aof_enabled") === "1" && (await hasWaitAof(redis));
  const nodes = [{ where: placeOf(target), info, state: "ok" }];
  return { nodes, hasReplicas: topologyOf(target) === "sentinel", acknowledgesFile };
}

/** Servers have it since 7.2, and an ACL user may lack the right. */
function hasWaitAof(redis: Redis): Promise<boolean> {
  return redis.call("WAITAOF", 0, 0, 1).then(
    () => true,
    () => false,
  );
}

/** Replicas that are away count too, since they come back. */
async function readCluster(redis: Redis) {
  const cluster = redis as unknown as Cluster;
  if (cluster.status !== "ready") await new Promise((resolve) => cluster.once("ready", resolve));
  const primaries = cluster.nodes("master");
  const nodes = primaries.map(async (node) => {
    const { host = "", port = 0 } = node.options;
    const [info, state] = await Promise.all([node.info(), node.cluster("INFO")]);
    return { where: addressText({ host, port }), info, state: valueOf(state, "cluster_state") };
  });
  const members = String(await primaries[0]?.cluster("NODES"));
  return {
    nodes: await Promise.all(nodes),
    hasReplicas: / (?:myself,)?slave[ ,]/.test(members),
    acknowledgesFile: false,
  };
}

function checkNode({ where, info, state }: Found["nodes"][number], topology: Topology): void {
  const version = valueOf(info, "redis_version");
  if (version === "unknown" || byVersion(version, oldestVersion) < 0) {
    throw unavailable(where, `is version ${version}; simfleet needs ${oldestVersion} or newer: upgrade it`);
  }
  if (topology !== "cluster" && valueOf(info, "cluster_enabled") === "1") {
    throw unavailable(
      where,
      "is a node of a cluster: give SIMFLEET_REDIS_URL as redis+cluster:// (or rediss+cluster://)",
    );
  }
  if (state !== "ok") {
    throw unavailable(where, `is in a cluster whose state is ${state}: look at CLUSTER INFO and CLUSTER NODES`);
  }
  const policy = valueOf(info, "maxmemory_policy");
  if (policy !== "noeviction") {
    throw unavailable(
      where,
      `has maxmemory-policy ${policy} and would lose rows when it is full: ` +
        "set it with CONFIG SET maxmemory-policy noeviction, and in redis.conf",
    );
  }
}

/** INFO names the replicas in sync only if min-replicas-to-write is set. */
function findWarnings(info: string): string[] {
  const isGuarded = valueOf(info, "min_slaves_good_slaves") !== "unknown";
  const warning =
    "min-replicas-to-write is 0: a primary that is cut off accepts writes, which are lost when it is replaced. " +
    "Set it to 1 with CONFIG SET, and in redis.conf";
  return isGuarded ? [] : [warning];
}

/** Valkey has a version of its own, and says which version of Redis it is like. */
function describeVersion(info: string): string {
  const valkey = valueOf(info, "valkey_version");
  return valkey === "unknown" ? valueOf(info, "redis_version") : `${valkey} (Valkey)`;
}

/** Compares numbers as numbers, without `localeCompare`, whose tables take 9 ms to load. */
function byVersion(a: string, b: string): number {
  const [one = "", other = ""] = [a, b].map((text) => text.replaceAll(/\d+/g, (digits) => digits.padStart(9, "0")));
  return one < other ? -1 : Number(one > other);
}

function unavailable(where: string, problem: string, cause?: unknown): SimfleetError {
  return new SimfleetError("STORE_UNAVAILABLE", `Redis at ${where} ${problem}`, { cause });
}

function valueOf(info: string, name: string): string {
  return new RegExp(`^${name}:(.+)$`, "m").exec(info)?.[1]?.trim() ?? "unknown";
}

/** An authentication or TLS failure emits an error event while commands just wait: fail with that error instead. */
function lastErrorInstead<T>(redis: Redis, target: RedisTarget, reply: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const fail = (thrown: Error & { lastNodeError?: Error }): void => {
      if ("ensureRunning" in target) target.ensureRunning().catch(reject);
      else if (thrown.lastNodeError !== undefined) reject(ofNode(thrown.lastNodeError));
      else
        reject("topology" in target && target.topology === "sentinel" ? ofSentinels(thrown, target.primary) : thrown);
    };
    reply.then(resolve, reject);
    redis.on("error", fail);
    reply.finally(() => redis.off("error", fail)).catch(() => undefined);
  });
}

/**
 * What Redis says before it closes a connection, as in protected mode or with too many clients. ioredis drops this
 * text, since it answers no command, and reports only that its own writes failed.
 */
function readRefusal({ host, port }: RedisAddress): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: refusalMs });
    let text = "";
    const end = (): void => {
      socket.destroy();
      resolve(/^-(?:DENIED |ERR )?(.+?)\r?$/m.exec(text)?.[1]);
    };
    socket.setEncoding("utf8").on("data", (more: string) => {
      text += more;
      if (text.includes("\n")) end();
    });
    socket.on("timeout", end).on("error", end).on("close", end);
  });
}

/** The retries that ioredis announces do not happen, since the first error is reported. */
function ofSentinels(error: Error, primary: string | undefined): Error {
  const last = /^All sentinels are unreachable\..*Last error: (.+)$/s.exec(error.message)?.[1];
  if (last === undefined) return error;
  const isNameUnknown = last.includes("No such master");
  const why = last.startsWith("Connection is closed") ? "" : ` (${last})`;
  const problem = isNameUnknown ? `the Sentinels know no primary ${primary}` : `no Sentinel answers${why}`;
  return new Error(problem, { cause: error });
}

/** ioredis does not report why a connection to a node of a cluster, or to a Sentinel, was closed. */
function ofNode(error: Error): Error {
  return error.message === "Connection is closed." ? new Error("none of the nodes answers", { cause: error }) : error;
}
