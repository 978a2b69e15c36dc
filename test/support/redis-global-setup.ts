/**
 * One Redis for the whole suite, found before the first test and gone after the last: the embedded one in a folder of
 * its own, or the one at REDIS_TEST_URL, or a container with REDIS_TEST=container (needs Docker). Where none can be had,
 * the tests that ask for it fail with the reason and all others run.
 */
import { mkdtemp, rm, stat } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { messageOf } from "#core/errors.ts";
import { EmbeddedRedis } from "#redis/embedded.ts";
import { until } from "./until.ts";

/** Where tests find Redis, or why they find none. */
export type TestRedisPlace = { readonly url: string } | { readonly failure: string };

declare module "vitest" {
  export interface ProvidedContext {
    redis: TestRedisPlace;
    /** Folder where a fetched server lies: the user's own, so that it is fetched once. */
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
    project.provide("redis", { failure: messageOf(thrown) });
    return async () => undefined;
  }
}

async function openServer(cacheDir: string): Promise<{ url: string; close: () => Promise<void> }> {
  const { REDIS_TEST_URL: url, REDIS_TEST: kind } = process.env;
  if (url) return { url, close: async () => undefined };
  if (kind === "container") return openContainer();
  const dataDir = await mkdtemp(join(tmpdir(), "simfleet-test-"));
  const embedded = await EmbeddedRedis.attach({ dataDir, cacheDir, path: process.env.PATH ?? "" });
  return {
    url: embedded.socketPath,
    close: async () => {
      await embedded.close();
      await until("the suite's Redis is gone", () =>
        stat(embedded.socketPath).then(
          () => false,
          () => true,
        ),
      );
      await rm(dataDir, { recursive: true, force: true });
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
