/** The examples of the library: each is a program that a user can copy. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, readdir } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { startSandbox, type Sandbox } from "#sandbox/server.ts";

const folder = fileURLToPath(new URL("../../../examples/library", import.meta.url));
let sandbox: Sandbox;

beforeAll(async () => {
  sandbox = await startSandbox({ sims: 12, pageSize: 5 });
});
afterAll(() => sandbox.close());

async function runExample(name: string, args: readonly string[] = []): Promise<string> {
  const redis = inject("redis");
  if ("failure" in redis) throw new Error(redis.failure);
  const child = spawn(process.execPath, [`${folder}/${name}`, ...args], {
    env: {
      SIMFLEET_REDIS_URL: redis.url,
      SIMFLEET_ENDPOINT_GLOBAL: sandbox.url,
      SIMFLEET_AUTH_KEY_ID: sandbox.options.authKeyId,
      SIMFLEET_AUTH_KEY: sandbox.options.authKey,
    },
  });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
  await once(child, "close");
  return output;
}

test("the example of the limiter spends one call of a quota", async () => {
  expect(await runExample("limiter.ts")).toBe("599 of 600 calls are left.\n");
});

test("the example of fetch makes every call of an API with a small quota, without a 429", async () => {
  let [calls, refused, beginMs] = [0, 0, performance.now()];
  const api = createServer((request, response) => {
    if (performance.now() >= beginMs + 2_000) [calls, beginMs] = [0, beginMs + 2_000];
    calls += 1;
    if (calls > 8) refused += 1;
    const left = `"default";r=${Math.max(0, 8 - calls)};t=${Math.ceil((beginMs + 2_000 - performance.now()) / 1_000)}`;
    response.writeHead(calls > 8 ? 429 : 200, { "ratelimit-policy": '"default";q=8;w=2', ratelimit: left });
    response.end(`page ${request.url}`);
  });
  await new Promise<void>((resolve) => api.listen(0, "127.0.0.1", resolve));
  const { port } = api.address() as AddressInfo;
  const output = await runExample("fetch.ts", [`http://127.0.0.1:${port}`]);
  await new Promise((resolve) => api.close(resolve));
  expect(output).toBe("20 pages were read.\n");
  expect(refused).toBe(0);
});

test("the example of the client gives every SIM the slowest speed class", async () => {
  const { sims } = sandbox.state;
  const classes = (): string[] => Array.from({ length: sims.places }, (_, place) => sims.speedClassAt(place));
  const faster = classes().filter((one) => one !== "s1.minimum").length;
  expect(faster).toBeGreaterThan(0);
  expect(await runExample("api.ts")).toBe(`${faster} SIMs changed.\n`);
  expect(classes().filter((one) => one !== "s1.minimum")).toEqual([]);
});

test("the example of the sandbox reads a page of its SIMs", async () => {
  expect(await runExample("sandbox.ts")).toMatch(/^10 of 25 SIMs, the first is \d+\.\n$/);
});

test("every example of the library has at most 40 lines", async () => {
  const names = await readdir(folder);
  expect(names.toSorted()).toEqual(["api.ts", "fetch.ts", "limiter.ts", "sandbox.ts"]);
  for (const name of names) {
    const lines = (await readFile(`${folder}/${name}`, "utf8")).trimEnd().split("\n");
    expect([name, lines.length <= 40]).toEqual([name, true]);
  }
});
