/**
 * What open event streams and a large upload cost a worker in memory: RSS with 0, 100 and 1,000 streams open, the peak
 * while each of them gets the thousands of events of a run, then the peak while 100 MB are handed over. The worker is a process of its own, from dist/.
 */
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { type ClientRequest, request } from "node:http";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { startSandboxProcess, startWorker } from "./simfleet-process.ts";

const token = "sf_bench";
const settleMs = 3_000;
const uploadMegabytes = 100;
const sims = 3_000;
/** Fewer than the SIMs: some have the class of the run already. */
const eventsAtLeast = 2_000;
const patienceMs = 90_000;

const folder = await mkdtemp(join(tmpdir(), "bench-streams-"));
const sandbox = await startSandboxProcess(["--sims", String(sims), "--limit", "Sim=1000000"]);
const port = await freePort();
const worker = await startWorker({
  ...sandbox.environment,
  SIMFLEET_DATA_DIR: join(folder, "data"),
  SIMFLEET_HTTP_PORT: String(port),
  SIMFLEET_HTTP_ADMIN_TOKEN: token,
});
const pid = worker.child.pid ?? 0;
const streams: { request: ClientRequest; events: number }[] = [];
try {
  await sleep(settleMs);
  say(`${await megabytes("VmRSS")} MB with no stream`);
  for (const count of [100, 1_000]) {
    while (streams.length < count) await openStream();
    await sleep(settleMs);
    say(`${await megabytes("VmRSS")} MB with ${count} streams`);
  }
  await writeFile(`/proc/${pid}/clear_refs`, "5"); // the peak begins anew
  await ask("POST", "/v1/syncs", "");
  await sleep(settleMs);
  const begunMs = performance.now();
  await ask("POST", "/v1/runs", JSON.stringify({ where: ["speedClass exists"], speedClass: "s1.8xfast" }));
  while (range()[0] < eventsAtLeast && performance.now() - begunMs < patienceMs) await sleep(100);
  const seconds = Math.round((performance.now() - begunMs) / 1_000);
  const [least, most] = range();
  say(`${await megabytes("VmHWM")} MB at the peak while each stream got ${least} to ${most} events in ${seconds} s`);
  await sleep(settleMs);
  say(`${await megabytes("VmRSS")} MB with them all sent`);
  for (const { request: open } of streams) open.destroy();
  await sleep(settleMs);
  say(`${await megabytes("VmRSS")} MB with the streams closed`);
  await writeFile(`/proc/${pid}/clear_refs`, "5"); // the peak begins anew
  const before = await megabytes("VmRSS");
  const status = await ask("POST", "/v1/plans", Readable.from(csv()));
  say(
    `${before} MB before and ${await megabytes("VmHWM")} MB at the peak of ${uploadMegabytes} MB handed over (answered ${status})`,
  );
} finally {
  await worker.stop();
  await sandbox.stop();
  await rm(folder, { recursive: true, force: true });
}

/** The fewest and the most events that a stream has. */
function range(): [number, number] {
  const counts = streams.map(({ events }) => events);
  return [Math.min(...counts), Math.max(...counts)];
}

function say(line: string): void {
  console.log(line);
}

async function megabytes(field: "VmRSS" | "VmHWM"): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Math.round(Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1] ?? 0) / 1_024);
}

/** Opens a stream and counts what comes; nothing of it is kept. */
async function openStream(): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, accept: "text/event-stream" };
  const stream = {
    request: request({ host: "127.0.0.1", port, path: "/v1/events", headers, agent: false }),
    events: 0,
  };
  stream.request.on("error", () => undefined).end();
  const [answer] = (await once(stream.request, "response")) as [NodeJS.ReadableStream];
  answer.on("data", (chunk: Buffer) => (stream.events += chunk.toString().split("\nevent: ").length - 1));
  answer.on("error", () => undefined);
  streams.push(stream);
}

async function ask(method: string, path: string, body: string | Readable): Promise<number> {
  const headers = {
    authorization: `Bearer ${token}`,
    ...(body === "" ? {} : { "content-type": typeof body === "string" ? "application/json" : "text/csv" }),
  };
  const asking = request({ host: "127.0.0.1", port, path, method, headers });
  if (typeof body === "string") asking.end(body);
  else body.pipe(asking);
  const [answer] = (await once(asking, "response")) as [NodeJS.ReadableStream & { statusCode: number }];
  answer.resume();
  await once(answer, "end");
  return answer.statusCode;
}

/** Rows of about a kilobyte. */
function* csv(): Generator<string> {
  yield "simId,speedClass,note\n";
  const note = "x".repeat(1_000);
  for (let n = 0; n < uploadMegabytes * 1_000; n += 1) yield `89423100${String(n).padStart(11, "0")},s1.fast,${note}\n`;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  return typeof address === "object" && address !== null ? address.port : 0;
}
