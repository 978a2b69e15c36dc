/**
 * The time that the gateway adds to a call while quota is there, against a direct call: both in turn, in one run, to the same
 * sandbox (a separate process), over connections that stay open.
 *
 *   npm run bench:gateway
 *   npm run bench:gateway -- --calls 5000 --callers 4
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Agent, request } from "undici";
import { systemClock } from "#core/time.ts";
import { startSandboxProcess } from "./simfleet-process.ts";

const { values } = parseArgs({
  options: { calls: { type: "string", default: "3000" }, callers: { type: "string", default: "1" } },
});
const calls = Number(values.calls);
const callers = Number(values.callers);
const cli = fileURLToPath(new URL("../dist/cli.js", import.meta.url));

/** Resolves with the address once the gateway is ready. */
async function startGateway(env: Readonly<Record<string, string>>): Promise<{ child: ChildProcess; url: string }> {
  const inherited = { PATH: process.env.PATH ?? "", HOME: process.env.HOME ?? "" };
  const child = spawn(process.execPath, [cli, "gateway"], {
    env: { ...inherited, ...env },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let log = "";
  const url = await new Promise<string>((resolve, reject) => {
    child.stderr.on("data", (data: Buffer) => {
      log += data.toString();
      const [, found] = /"gateway":"([^"]+)"/.exec(log) ?? [];
      if (found !== undefined) resolve(found);
    });
    child.once("exit", (code) => reject(new Error(`the gateway ended with ${code}: ${log}`)));
  });
  return { child, url };
}

async function measure(latencyMs: number): Promise<{ direct: number[]; through: number[] }> {
  const folder = await mkdtemp(join(tmpdir(), "simfleet-bench-"));
  const limits = ["--limit", "Sim=1000000000", "--limit", "Auth=1000000"];
  const sandbox = await startSandboxProcess([...limits, "--latency", String(latencyMs)]);
  const env = { ...sandbox.environment, SIMFLEET_DATA_DIR: join(folder, "d"), SIMFLEET_GATEWAY_PORT: "0" };
  const gateway = await startGateway(env);
  const dispatcher = new Agent({ connections: callers, pipelining: 1 });
  const target = sandbox.environment.SIMFLEET_ENDPOINT_GLOBAL ?? "";
  const headers = await pairHeaders(target, sandbox.environment, dispatcher);
  const timeOf = async (url: string): Promise<number> => {
    const beganMs = systemClock.monotonicMs();
    const { body, statusCode } = await request(`${url}/v1/sims?limit=1`, { dispatcher, headers });
    await body.text();
    if (statusCode !== 200) throw new Error(`status ${statusCode}`);
    return systemClock.monotonicMs() - beganMs;
  };
  const times: { direct: number[]; through: number[] } = { direct: [], through: [] };
  const caller = async (count: number, into: typeof times): Promise<void> => {
    for (let n = 0; n < count; n += 1) {
      into.direct.push(await timeOf(target));
      into.through.push(await timeOf(gateway.url));
    }
  };
  try {
    await caller(200, { direct: [], through: [] });
    await Promise.all(Array.from({ length: callers }, () => caller(Math.ceil(calls / callers), times)));
  } finally {
    await dispatcher.close();
    gateway.child.kill("SIGTERM");
    await new Promise((resolve) => gateway.child.once("exit", resolve));
    await sandbox.stop();
    await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
  }
  return times;
}

async function pairHeaders(
  url: string,
  { SIMFLEET_AUTH_KEY_ID: authKeyId, SIMFLEET_AUTH_KEY: authKey }: Readonly<Record<string, string>>,
  dispatcher: Agent,
): Promise<Record<string, string>> {
  const { body } = await request(`${url}/v1/auth`, {
    dispatcher,
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ authKeyId, authKey }),
  });
  const pair = (await body.json()) as { apiKey: string; token: string };
  return { "x-svc-api-key": pair.apiKey, "x-svc-token": pair.token };
}

function percentile(times: readonly number[], share: number): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
}

const rows = [];
for (const latencyMs of [0, 10]) {
  const { direct, through } = await measure(latencyMs);
  for (const [name, share] of [
    ["p50", 0.5],
    ["p99", 0.99],
  ] as const) {
    const [directMs, gatewayMs] = [percentile(direct, share), percentile(through, share)];
    rows.push({
      "latency, ms": latencyMs,
      of: name,
      "direct, ms": directMs.toFixed(2),
      "through the gateway, ms": gatewayMs.toFixed(2),
      "added, ms": (gatewayMs - directMs).toFixed(2),
    });
  }
}
console.log(`${calls} calls each, ${callers} at once`);
console.table(rows);
