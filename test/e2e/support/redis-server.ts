/** A redis-server on its own port: for tests that take it away during a run, or that use a user name or TLS. */
import { randomInt } from "node:crypto";
import { createServer } from "node:net";
import { inject } from "vitest";
import { findRedisServer } from "#redis/embedded/find-server.ts";
import type { RunningProcess } from "./process.ts";
import type { CliHarness } from "./cli-harness.ts";

/** What starts servers, and ends them with itself. */
export type ServerHost = Pick<CliHarness, "folder" | "startProgram">;

export interface RedisOnPort extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly process: RunningProcess;
}

/** Starts a server with its data in the folder, so that a second one finds the data of the first. */
export async function redisOnPort(harness: ServerHost, port?: number): Promise<RedisOnPort> {
  const at = port ?? (await freePort());
  return startRedis(harness, at, ["--port", String(at)]);
}

/** Starts a server that only accepts TLS with a client certificate; the options name its files. */
export async function redisWithTls(
  harness: ServerHost,
  files: { readonly ca: string; readonly cert: string; readonly key: string },
): Promise<RedisOnPort> {
  const at = await freePort();
  const ports = ["--port", "0", "--tls-port", String(at), "--tls-auth-clients", "yes"];
  const certificates = ["--tls-ca-cert-file", files.ca, "--tls-cert-file", files.cert, "--tls-key-file", files.key];
  return startRedis(harness, at, [...ports, ...certificates]);
}

/** Starts a server with the users of a file of ACL lines. */
export async function redisWithUsers(harness: ServerHost, aclFile: string): Promise<RedisOnPort> {
  const at = await freePort();
  return startRedis(harness, at, ["--port", String(at), "--aclfile", aclFile]);
}

/** Starts a server with options of the test's own. */
export async function startRedis(
  harness: ServerHost,
  at: number,
  args: readonly string[],
  { folder = harness.folder, env = {} }: { folder?: string; env?: Readonly<Record<string, string>> } = {},
): Promise<RedisOnPort> {
  const options = ["--bind", "127.0.0.1", "--dir", folder, "--appendonly", "yes", "--save", ""];
  const policy = ["--maxmemory-policy", "noeviction"];
  const running = await startServerProgram(harness, [...args, ...options, ...policy], env);
  await running.said(/Ready to accept connections/, "stdout");
  return {
    url: `redis://127.0.0.1:${at}`,
    port: at,
    process: running,
    [Symbol.asyncDispose]: async () => {
      running.kill("SIGKILL");
      await running.ended;
    },
  };
}

/** The same program that simfleet runs, with any options. */
export async function startServerProgram(
  harness: ServerHost,
  args: readonly string[],
  more: Readonly<Record<string, string>> = {},
): Promise<RunningProcess> {
  const server = await findRedisServer({ path: process.env.PATH ?? "", cacheDir: inject("cacheDir") });
  const env = server.libraries === undefined ? {} : { LD_LIBRARY_PATH: server.libraries };
  return harness.startProgram(server.binary, args, { ...env, ...more });
}

/**
 * A port below those that the system gives to connections and to servers without one of their own, so that none of them
 * takes it before the server is up. The port 10,000 above, the bus of a cluster's node, is below them as well.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, 22_000);
    if (given.has(port)) continue;
    given.add(port).add(port + 10_000);
    if ((await isFree(port)) && (await isFree(port + 10_000))) return port;
  }
}

/** Tests of a file start their servers at once. */
const given = new Set<number>();

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
