import { mkdtemp, rm } from "node:fs/promises";
import { type AddressInfo, type Server, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, describe, expect, inject, it, onTestFinished } from "vitest";
import { redisConnections, type RedisConnections, type RedisTarget } from "#redis/connection.ts";
import { attachRedis, type EmbeddedRedis } from "#redis/embedded/embedded.ts";
import { inWordsOfRedis } from "#redis/node.ts";
import { verifyRedis } from "#redis/verify.ts";
import { until } from "../../support/until.ts";

let folder: string;
let embedded: EmbeddedRedis;
let server: Redis;
const opened: RedisConnections[] = [];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "simfleet-verify-"));
  embedded = await attachRedis({
    dataDir: folder,
    cacheDir: inject("cacheDir"),
    path: process.env.PATH ?? "",
  });
  server = open(embedded).connect("test");
});
afterEach(async () => {
  await server.config("SET", "maxmemory-policy", "noeviction", "requirepass", "", "maxmemory", "0");
});
afterAll(async () => {
  await Promise.all(opened.map((connections) => connections.close()));
  await embedded.close();
  await until("the server stopped", async () => {
    const other = redisConnections({ socketPath: embedded.socketPath });
    const isUp = await verifyRedis(other).then(
      () => true,
      () => false,
    );
    await other.close();
    return !isUp;
  });
  // Its supervisor removes its own files a moment after the socket.
  await rm(folder, { recursive: true, maxRetries: 20, retryDelay: 50 });
});

function open(target: RedisTarget): RedisConnections {
  const connections = redisConnections(target);
  opened.push(connections);
  return connections;
}

it("a transaction that a full Redis refuses is explained like a single command", async () => {
  await server.config("SET", "maxmemory", "1");
  const thrown: unknown = await server
    .multi()
    .set("{simfleet}:test", "1")
    .exec()
    .catch((error: unknown) => error);
  expect(thrown).toMatchObject({ message: expect.stringMatching(/^EXECABORT/) as string });
  expect(inWordsOfRedis(thrown)).toMatchObject({
    code: "STORE_UNAVAILABLE",
    message: expect.stringContaining("it is full: raise its maxmemory, or delete data (OOM ") as string,
  });
});

describe("the check before the first use of Redis", () => {
  it("the Redis check accepts a suitable server with or without a password", async () => {
    expect(await verifyRedis(open(embedded))).toEqual({
      topology: "server",
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      hasReplicas: false,
      acknowledgesFile: false,
      warnings: [],
    });
    await server.config("SET", "requirepass", "right");
    expect(await verifyRedis(open({ socketPath: embedded.socketPath, password: "right" }))).toMatchObject({
      topology: "server",
    });
  });

  it("the Redis check explains how to configure a server that would evict data", async () => {
    await server.config("SET", "maxmemory-policy", "allkeys-lru");
    await expect(verifyRedis(open({ socketPath: embedded.socketPath }))).rejects.toMatchObject({
      code: "STORE_UNAVAILABLE",
      message: `Redis at ${embedded.socketPath} has maxmemory-policy allkeys-lru and would lose rows when it is full: set it with CONFIG SET maxmemory-policy noeviction, and in redis.conf`,
    });
  });

  it("the Redis check names a version that is too old", async () => {
    const socket = join(folder, "old.sock");
    const info = "# Server\r\nredis_version:6.0.16\r\nloading:0\r\nmaxmemory_policy:noeviction\r\n";
    const old = await serveInfo(socket, info);
    await expect(verifyRedis(open({ socketPath: socket }))).rejects.toMatchObject({
      code: "STORE_UNAVAILABLE",
      message: `Redis at ${socket} is version 6.0.16; simfleet needs 6.2 or newer: upgrade it`,
    });
    old.close();
  });

  it("the Redis check reports a wrong or missing password without printing it", async () => {
    await server.config("SET", "requirepass", "right");
    for (const password of ["wrong-word", undefined]) {
      const connections = open({ socketPath: embedded.socketPath, password });
      const refusal: unknown = await verifyRedis(connections).catch((thrown: unknown) => thrown);
      expect(refusal).toMatchObject({ code: "STORE_UNAVAILABLE" });
      const { message } = refusal as Error;
      expect(message).toMatch(password === undefined ? /NOAUTH/ : /WRONGPASS/);
      expect(message).not.toContain("wrong-word");
    }
  });
});

/** A server that knows one command. */
function serveInfo(socketPath: string, info: string): Promise<Server> {
  const fake = createServer((socket) => {
    socket.on("data", (data) => {
      for (const command of data
        .toString("latin1")
        .split(/^\*\d+\r\n/m)
        .slice(1)) {
        const name = command.split("\r\n")[1]?.toUpperCase();
        socket.write(
          name === "INFO" ? `$${info.length}\r\n${info}\r\n` : name === "HELLO" ? "-NOPROTO no\r\n" : "+OK\r\n",
        );
      }
    });
    socket.on("error", () => undefined);
  });
  return new Promise((resolve) => {
    fake.listen(socketPath, () => resolve(fake));
  });
}

/** A server that writes a line to each connection and closes it, as Redis does in protected mode or when it is full. */
async function refusing(line: string): Promise<number> {
  const refuser = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.end(line, () => socket.destroy());
  });
  await new Promise<void>((resolve) => refuser.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void refuser.close());
  return (refuser.address() as AddressInfo).port;
}

it("a command shows the text with which Redis refuses the connection", async () => {
  const port = await refusing("-DENIED Redis is running in protected mode because no password is set.\r\n");
  const connections = redisConnections({ topology: "server", addresses: [{ host: "127.0.0.1", port }] });
  onTestFinished(() => connections.close());
  await expect(verifyRedis(connections)).rejects.toThrow(
    `Redis at 127.0.0.1:${port} refuses connections: Redis is running in protected mode because no password is set.`,
  );
});
