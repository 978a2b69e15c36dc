/**
 * A process that makes one call per SIM without a limiter: what `bench/throughput.ts` compares simfleet with. It prints
 * how many seconds the calls took.
 *
 *   node bench/row-loop.ts bare|bullmq ADDRESS FILE CONNECTIONS [SOCKET OF REDIS]
 */
import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { Queue, Worker } from "bullmq";
import { Agent, request } from "undici";
import { systemClock } from "#core/time.ts";

const [kind = "", address = "", file = "", width = "", path = ""] = process.argv.slice(2);
const connections = Number(width);
const lines = (await readFile(file, "utf8")).trimEnd().split("\n").slice(1);
const rows = lines.map((line) => line.split(",") as [simId: string, speedClass: string]);

const dispatcher = new Agent({ connections, pipelining: 1 });
const answer = await request(`${address}/v1/auth`, {
  dispatcher,
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({
    authKeyId: process.env["SIMFLEET_AUTH_KEY_ID"],
    authKey: process.env["SIMFLEET_AUTH_KEY"],
  }),
});
const pair = (await answer.body.json()) as { apiKey: string; token: string };
const headers = { "x-svc-api-key": pair.apiKey, "x-svc-token": pair.token, "content-type": "application/json" };

async function call(simId: string, speedClass: string): Promise<void> {
  const { body, statusCode } = await request(`${address}/v1/sims/${simId}/update_speed_class`, {
    dispatcher,
    method: "POST",
    headers,
    body: JSON.stringify({ speedClass }),
  });
  await body.json();
  if (statusCode !== 200) throw new Error(`status ${statusCode}`);
}

/** A loop per connection. */
async function bare(): Promise<number> {
  const startMs = systemClock.monotonicMs();
  const queue = rows.values();
  const lane = async (): Promise<void> => {
    for (const [simId, speedClass] of queue) await call(simId, speedClass);
  };
  await Promise.all(Array.from({ length: connections }, lane));
  return systemClock.monotonicMs() - startMs;
}

/** A job per row; the time in which they are added does not count. */
async function bullmq(): Promise<number> {
  const options = { connection: { path, maxRetriesPerRequest: null }, prefix: `{${randomUUID()}}` };
  const queue = new Queue<[string, string]>("rows", options);
  const opts = { removeOnComplete: true };
  for (let at = 0; at < rows.length; at += 1_000) {
    await queue.addBulk(rows.slice(at, at + 1_000).map((data) => ({ name: "row", data, opts })));
  }
  let left = rows.length;
  const worker = new Worker<[string, string]>("rows", ({ data }) => call(...data), {
    ...options,
    concurrency: connections,
    autorun: false,
  });
  await worker.waitUntilReady();
  const startMs = systemClock.monotonicMs();
  await new Promise<void>((resolve, reject) => {
    worker.on("completed", () => {
      left -= 1;
      if (left === 0) resolve();
    });
    worker.on("failed", (_, error) => reject(error));
    void worker.run();
  });
  const tookMs = systemClock.monotonicMs() - startMs;
  await Promise.all([worker.close(), queue.close()]);
  return tookMs;
}

console.log((await (kind === "bullmq" ? bullmq() : bare())) / 1_000);
await dispatcher.close();
