/**
 * Everything that a round needs, in a folder of its own: the sandbox as the platform, a Redis, a small disk, a receiver
 * of webhooks, and workers that reach Redis and the platform each through its own proxies.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer } from "node:net";
import { type Sandbox, startSandbox } from "#sandbox/server.ts";
import { openReceiver, type Receiver } from "../../redis/webhooks/receiver.ts";
import { type Disk, openDisk } from "./disk.ts";
import type { Plan } from "../plan.ts";
import { Proxy } from "./proxy.ts";
import { RedisProcess } from "./redis-process.ts";
import { WorkerProcess } from "./worker-process.ts";

const sims = 2_400;
const periodSeconds = 2;
export const callsPerPeriod = 1_200;
/** Calls in flight of a worker at most. */
export const connections = 8;
/** Rows that a worker may be at: each of its four segments in progress has as many lanes as there are connections. */
export const rowsInHand = 4 * connections;
/** SIMs that nobody may change anymore: their rows are rejected. */
export const terminatedSims = [690, 700] as const;
/** Text that no log may contain. */
export const secrets = {
  authKey: "secret-of-the-auth-key-0123456789",
  adminToken: "admin-token-of-the-chaos-test-0123456789",
  webhook: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  firstSecret: "secret-before-the-rotation",
} as const;

export interface Station {
  readonly worker: WorkerProcess;
  readonly redis: Proxy;
  readonly platform: Proxy;
  /** Of the worker's control API, with /v1. */
  readonly api: string;
}

export interface Stage {
  readonly folder: string;
  readonly sandbox: Sandbox;
  readonly redis: RedisProcess;
  readonly disk: Disk;
  readonly receiver: Receiver;
  readonly stations: readonly Station[];
  /** When the schedule `once` is due, ms since the epoch. */
  readonly onceDueMs: number;
  close(keepFolder: boolean): Promise<void>;
}

const onceAfterMs = 7_000;

export async function openStage({ seed, workers }: Plan): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), `simfleet-chaos-${seed}-`));
  const sandbox = await startSandbox({
    sims,
    operations: "all",
    records: "soracom",
    seed,
    periodSeconds,
    latencyMs: [2, 12],
    slowMs: 1500,
    authKey: secrets.authKey,
    faultsOnAuth: true,
    limits: {
      Sim: callsPerPeriod,
      Credential: 1e3,
      Group: 1e3,
      Operator: 1e3,
      Auth: 1e4,
    },
  });
  prepare(sandbox);
  const disk = openDisk(join(folder, "disk"));
  const receiver = await openReceiver(secrets.webhook);
  const redis = await RedisProcess.start(folder, await freePort());
  const onceDueMs = Math.ceil((Date.now() + onceAfterMs) / 1_000) * 1_000;
  writeConfiguration(folder, { disk, receiver, onceDueMs, sandbox });
  const stations: Station[] = [];
  for (let number = 0; number < workers; number += 1) {
    stations.push(await openStation(number, { folder, disk, sandbox, redis }));
  }
  for (const { worker } of stations) worker.start();
  const close = async (keepFolder: boolean): Promise<void> => {
    await Promise.all(stations.map(({ worker }) => worker.close()));
    redis.signal("SIGCONT");
    await redis.close();
    await Promise.all(stations.flatMap((station) => [station.redis.close(), station.platform.close()]));
    await receiver[Symbol.asyncDispose]();
    await sandbox.close();
    disk.unmount();
    if (!keepFolder) rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  };
  return { folder, sandbox, redis, disk, receiver, stations, onceDueMs, close };
}

/** Every SIM is active, but for some that are terminated; one group refers to the Credential Set. */
function prepare({ fleet, state }: Sandbox): void {
  for (let place = 0; place < sims; place += 1) {
    const isTerminated = place >= terminatedSims[0] && place < terminatedSims[1];
    fleet.edit(state.sims.simIdAt(place), { status: isTerminated ? "terminated" : "active" });
  }
  state.credentials.create("mqtt", { type: "psk", credentials: { key: secrets.firstSecret } });
  const [group] = state.groups.all;
  state.groups.configure(group?.groupId ?? "", "SoracomFunk", [{ key: "credentialsId", value: "mqtt" }]);
}

/** SIMs of the schedule that runs once. */
export const onceSims = [2_300, 2_340] as const;
/** SIMs of the file for the drop folder. */
export const droppedSims = [2_380, 2_400] as const;

/** The drop folder, on the disk that can be full. */
export function dropFolderOf(disk: Disk): string {
  return join(disk.folder, "in");
}

function writeConfiguration(
  folder: string,
  { disk, receiver, onceDueMs, sandbox }: { disk: Disk; receiver: Receiver; onceDueMs: number; sandbox: Sandbox },
): void {
  writeFileSync(join(folder, "seal-key"), Buffer.alloc(32, 9), { mode: 0o600 });
  writeFileSync(join(folder, "hook-secret"), secrets.webhook, { mode: 0o600 });
  mkdirSync(join(disk.folder, "out"));
  mkdirSync(dropFolderOf(disk));
  const ids = Array.from({ length: onceSims[1] - onceSims[0] }, (_, i) => sandbox.state.sims.simIdAt(onceSims[0] + i));
  writeFileSync(join(folder, "once.csv"), `simId\n${ids.join("\n")}\n`);
  const due = new Date(onceDueMs);
  const cron = [due.getUTCSeconds(), due.getUTCMinutes(), due.getUTCHours(), due.getUTCDate(), due.getUTCMonth() + 1];
  const configuration = `seal: { keyFile: ${join(folder, "seal-key")} }
rotations:
  mqtt:
    type: psk
    generate: { field: key, bytes: 32, encoding: base64url }
    graceSeconds: 0
    sinks: [ { file: ${join(disk.folder, "out/mqtt")} } ]
schedules:
  once: { cron: "${cron.join(" ")} *", job: apply, file: ${join(folder, "once.csv")}, operation: put-tag, set: { tagName: once, tagValue: "1" } }
  report: { cron: "*/3 * * * * *", job: report, file: ${join(disk.folder, "out/report.json")} }
automations:
  after-run: { on: run.completed, job: report, file: ${join(disk.folder, "out/after-run.json")} }
dropFolder: { path: ${dropFolderOf(disk)}, operation: put-tag, set: { tagName: dropped, tagValue: "1" }, settleSeconds: 1 }
webhooks:
  ops: { url: "${receiver.url}", secretFile: ${join(folder, "hook-secret")}, events: ["run.*", "sync.*", "credential.*"] }
`;
  writeFileSync(join(folder, "simfleet.yaml"), configuration, { mode: 0o600 });
}

async function openStation(
  number: number,
  { folder, disk, sandbox, redis }: { folder: string; disk: Disk; sandbox: Sandbox; redis: RedisProcess },
): Promise<Station> {
  const [redisProxy, platform] = [await Proxy.open(redis.port), await Proxy.open(sandbox.port)];
  const port = await freePort();
  const env = {
    PATH: process.env.PATH ?? "",
    HOME: folder,
    NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(tmpdir(), "simfleet-compiled"),
    SIMFLEET_CONFIG: join(folder, "simfleet.yaml"),
    SIMFLEET_REDIS_URL: `redis://127.0.0.1:${redisProxy.port}`,
    SIMFLEET_DATA_DIR: join(disk.folder, `data-${number}`),
    SIMFLEET_DEPLOYMENT: "soracom",
    SIMFLEET_BRAND: "Svc",
    SIMFLEET_COVERAGE: "g",
    SIMFLEET_ENDPOINT_GLOBAL: `http://127.0.0.1:${platform.port}`,
    SIMFLEET_AUTH_KEY_ID: sandbox.options.authKeyId,
    SIMFLEET_AUTH_KEY: secrets.authKey,
    SIMFLEET_RATE_PERIOD_SECONDS: String(periodSeconds),
    SIMFLEET_CONNECTIONS: String(connections),
    SIMFLEET_HTTP_PORT: String(port),
    SIMFLEET_HTTP_ADMIN_TOKEN: secrets.adminToken,
  };
  const worker = new WorkerProcess(number, { env, logPath: join(folder, `worker-${number}.log`) });
  return { worker, redis: redisProxy, platform, api: `http://127.0.0.1:${port}/v1` };
}

let nextPort = 20_000 + ((process.pid * 40) % 12_000);

/** Below those that the system gives to connections: nobody takes it while a killed server is away. */
async function freePort(): Promise<number> {
  for (;;) {
    const port = nextPort;
    nextPort = nextPort >= 32_000 ? 20_000 : nextPort + 1;
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false));
      server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
    });
    if (isFree) return port;
  }
}
