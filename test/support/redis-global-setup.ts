/**
 * One Redis for the whole suite, from before the first test until after the last: an embedded one in its own folder, or
 * the one at REDIS_TEST_URL, or a container with REDIS_TEST=container (needs Docker). If none is available, the tests
 * that need it fail with the reason and all others run.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { TestProject } from "vitest/node";
import { until } from "./until.ts";

/** Where tests find Redis, or why there is none. */
export type TestRedisPlace = { readonly url: string } | { readonly failure: string };

declare module "vitest" {
  export interface ProvidedContext {
    redis: TestRedisPlace;
    /** Folder of a downloaded server: the user's own, so that it is downloaded once. */
    cacheDir: string;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const cacheDir = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "simfleet");
  project.provide("cacheDir", cacheDir);
  try {
    const opened = await openServer(cacheDir);
    project.provide("redis", { url: opened.url });
    return opened.close;
  } catch (thrown) {
    project.provide("redis", { failure: String(thrown) });
    return () => Promise.resolve();
  }
}

async function openServer(cacheDir: string): Promise<{ url: string; close: () => Promise<void> }> {
  const { REDIS_TEST_URL: url, REDIS_TEST: kind } = process.env;
  if (url) return { url, close: () => Promise.resolve() };
  if (kind === "container") return openContainer();
  return openEmbedded(cacheDir);
}

/** In a separate process: this one does not resolve `#module/file`. */
async function openEmbedded(cacheDir: string): Promise<{ url: string; close: () => Promise<void> }> {
  const dataDir = await mkdtemp(join(tmpdir(), "simfleet-test-"));
  const script = fileURLToPath(new URL("./attach.ts", import.meta.url));
  const holder = spawn(process.execPath, [script, dataDir, cacheDir], {
    stdio: "pipe",
  });
  let said = "";
  let complained = "";
  holder.stdout.on("data", (chunk: Buffer) => (said += chunk.toString()));
  holder.stderr.on("data", (chunk: Buffer) => (complained += chunk.toString()));
  await until(
    "the suite's Redis is up or known not to come",
    () => said.includes("\n") || holder.exitCode !== null,
    60_000,
  );
  const socketPath = /^attached (.+)$/m.exec(said)?.[1];
  if (socketPath === undefined) throw new Error(complained);
  return {
    url: socketPath,
    close: async () => {
      holder.stdin.end();
      if (holder.exitCode === null) await once(holder, "exit");
      const isGone = () =>
        stat(socketPath).then(
          () => false,
          () => true,
        );
      await until("the suite's Redis is gone", isGone);
      // Its supervisor removes its own files a moment after the socket.
      await rm(dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
    },
  };
}

async function openContainer(): Promise<{ url: string; close: () => Promise<void> }> {
  const { GenericContainer } = await import("testcontainers");
  const container = await new GenericContainer("redis:7-alpine").withExposedPorts(6379).start();
  return {
    url: `redis://${container.getHost()}:${container.getMappedPort(6379)}`,
    close: async () => {
      await container.stop();
    },
  };
}
