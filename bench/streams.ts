/**
 * Measures the memory that open event streams and a large upload cost a worker: with 0, 100 and 1,000 open streams, at
 * the peak of floods in each of which every stream receives thousands of events, after the streams are closed, and at
 * the peak of a 100 MB upload. In the first half of the floods another process emits the events, so that only the
 * streams cost anything; the others are runs over the fleet that the worker processes itself. The worker is a separate
 * process from dist/. After each flood the benchmark checks that all streams received the same events in the same
 * order.
 *
 *   npm run bench:streams
 *   npm run bench:streams -- --floods 10 --streams 100
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { type ClientRequest, request } from "node:http";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { MemoryCounts, MemoryReport } from "./memory.ts";
import { startSandboxProcess, startWorker } from "./simfleet-process.ts";

const { values } = parseArgs({
  options: { floods: { type: "string", default: "3" }, streams: { type: "string", default: "1000" } },
});
const floods = Number(values.floods);
const streamCounts = [100, 1_000].filter((count) => count <= Number(values.streams));
const token = `sf_bench-${"x".repeat(32)}`;
const settleMs = 3_000;
const uploadMegabytes = 100;
const sims = 3_000;
const classes = ["s1.8xfast", "s1.fast"];
const patienceMs = 90_000;
const toldForMs = 6_000;
const toldPerMinute = 36_000;

interface Stream {
  readonly request: ClientRequest;
  events: number;
  /** Number of completed runs that the stream has reported. */
  runs: number;
  /** Digest of all ids in order. */
  digest: number;
  rest: string;
}

const folder = await mkdtemp(join(tmpdir(), "bench-streams-"));
const sandbox = await startSandboxProcess(["--sims", String(sims), "--limit", "Sim=1000000"]);
const port = await freePort();
const probe = new URL("./report-memory.mjs", import.meta.url);
const worker = await startWorker({
  ...sandbox.environment,
  SIMFLEET_DATA_DIR: join(folder, "data"),
  SIMFLEET_HTTP_PORT: String(port),
  SIMFLEET_HTTP_ADMIN_TOKEN: token,
  NODE_OPTIONS: `--import=${probe.href}`,
});
const pid = worker.child.pid ?? 0;
const streams: Stream[] = [];
let cpuBefore = 0;
try {
  await sleep(settleMs);
  await emit("no stream");
  for (const count of streamCounts) {
    while (streams.length < count) await openStream();
    await sleep(settleMs);
    await emit(`${count} streams`);
  }
  await ask("POST", "/v1/syncs", "");
  await sleep(settleMs);
  for (let flood = 0; flood < floods; flood += 1) await unleash(`emitted flood ${flood + 1}`, reported);
  for (let flood = 0; flood < floods; flood += 1) await unleash(`run flood ${flood + 1}`, () => run(flood));
  for (const { request: open } of streams) open.destroy();
  await sleep(settleMs);
  await emit("streams closed");
  const status = await ask("POST", "/v1/plans", Readable.from(csv()));
  await emit(`${uploadMegabytes} MB uploaded (${status})`);
} finally {
  await worker.stop();
  await sandbox.stop();
  await rm(folder, { recursive: true, force: true });
}

/** @param flood resolves when every stream has received its last event */
async function unleash(name: string, flood: () => Promise<void>): Promise<void> {
  const before = Math.min(...streams.map(({ events }) => events));
  const begunMs = performance.now();
  await flood();
  const seconds = ((performance.now() - begunMs) / 1_000).toFixed(1);
  await sleep(settleMs);
  const events = Math.min(...streams.map((stream) => stream.events)) - before;
  const isSame = new Set(streams.map((stream) => `${stream.events} ${stream.digest}`)).size === 1;
  await emit(`${name}: ${events} events each, ${seconds} s, ${isSame ? "all the same" : "NOT ALL THE SAME"}`);
}

/** Another process emits events about changed SIMs. */
async function reported(): Promise<void> {
  const before = streams.map(({ events }) => events);
  const script = fileURLToPath(new URL("./emit-events.ts", import.meta.url));
  const args = [script, join(folder, "data"), String(toldPerMinute), "8942310000000000001"];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const gone = once(child, "close");
  const [out] = await Promise.all([
    once(child.stdout, "data").then(([data]: Buffer[]) => Number(data?.toString())),
    sleep(toldForMs).then(() => child.kill("SIGTERM")),
    gone,
  ]);
  await allSeen((stream, i) => stream.events >= (before[i] ?? 0) + out);
}

/** A run over the whole fleet. */
async function run(flood: number): Promise<void> {
  const speedClass = classes[flood % classes.length];
  await ask("POST", "/v1/runs", JSON.stringify({ where: ["speedClass exists"], speedClass }));
  await allSeen(({ runs }) => runs > flood);
}

async function allSeen(hasSeen: (stream: Stream, index: number) => boolean): Promise<void> {
  const endMs = performance.now() + patienceMs;
  while (!streams.every(hasSeen) && performance.now() < endMs) await sleep(50);
}

/** Prints the worker's memory, and its peak since the previous line. */
async function emit(what: string): Promise<void> {
  const { now, most } = await countsOfWorker();
  const of = (name: keyof MemoryCounts): string => `${name} ${mega(now[name])} (${mega(most[name])})`;
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  const rss = (field: string): string => mega(Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1] ?? 0) * 1_024);
  const deps = [
    `RSS ${rss("VmRSS")} (${rss("VmHWM")})`,
    of("heapUsed"),
    of("heapTotal"),
    of("external"),
    of("arrayBuffers"),
  ];
  const cpu = await cpuSeconds();
  console.log(`${what}: MB now (most) ${deps.join(", ")}; ${(cpu - cpuBefore).toFixed(1)} s of processor`);
  cpuBefore = cpu;
  await writeFile(`/proc/${pid}/clear_refs`, "5"); // resets the peak
}

/** CPU time of the worker so far. */
async function cpuSeconds(): Promise<number> {
  const [, rest = ""] = (await readFile(`/proc/${pid}/stat`, "utf8")).split(") ");
  const [user, system] = rest.split(" ").slice(11, 13).map(Number);
  return ((user ?? 0) + (system ?? 0)) / 100;
}

async function countsOfWorker(): Promise<MemoryReport["memoryReport"]> {
  const { stderr } = worker.child;
  if (stderr === null) throw new Error("the worker has no stderr");
  process.kill(pid, "SIGUSR2");
  let text = "";
  for (;;) {
    const [data] = (await once(stderr, "data")) as [Buffer];
    text += data.toString();
    const line = /^\{"memoryReport".*\}$/m.exec(text);
    if (line !== null) return (JSON.parse(line[0]) as MemoryReport).memoryReport;
  }
}

function mega(bytes: number): string {
  return String(Math.round(bytes / 1_048_576));
}

/** Opens a stream; only counts of its content are kept. */
async function openStream(): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, accept: "text/event-stream" };
  const stream: Stream = {
    request: request({
      host: "127.0.0.1",
      port,
      path: "/v1/events",
      headers,
      agent: false,
    }),
    events: 0,
    runs: 0,
    digest: 0,
    rest: "",
  };
  stream.request.on("error", () => undefined).end();
  const [answer] = (await once(stream.request, "response")) as [NodeJS.ReadableStream];
  answer.on("data", (chunk: Buffer) => take(stream, chunk.toString("latin1")));
  answer.on("error", () => undefined);
  streams.push(stream);
}

function take(stream: Stream, chunk: string): void {
  const text = stream.rest + chunk;
  const end = text.lastIndexOf("\n\n") + 1;
  for (const [, id = "", type] of text.slice(0, end).matchAll(/^id: (.*)\nevent: (.*)$/gm)) {
    stream.events += 1;
    if (type === "run.completed") stream.runs += 1;
    for (let at = 0; at < id.length; at += 1) stream.digest = (Math.imul(stream.digest, 31) + id.charCodeAt(at)) | 0;
  }
  // Copies the string, so that the chunk can be released.
  stream.rest = Buffer.from(text.slice(end), "latin1").toString("latin1");
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
