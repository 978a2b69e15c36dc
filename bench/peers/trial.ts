/** One trial: one limiter in one cell, against a sandbox of its own. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { Redis } from "ioredis";
import { request } from "undici";
import { systemClock } from "#core/time.ts";
import { Limiter } from "#limiter/limiter.ts";
import { Keys } from "#redis/keys.ts";
import { type Sandbox, startSandbox } from "#sandbox/server.ts";
import { minTimeMs } from "../min-time.ts";
import type { Assignment, Report } from "./caller.ts";
import type { Cell } from "./cells.ts";

export interface Trial {
  /** Least possible time / time; 0 if the calls were not made within four times the least time. */
  readonly ratio: number;
  /** Answers of 429. */
  readonly throttled: number;
  /** Milliseconds of processor time per call. */
  readonly cpuMs: number;
  readonly redisCalls: number;
  /** Share of the calls of a rival, or of live calls, that got 429. */
  readonly othersRefused: number;
  /** 99 % of the live calls waited for less, ms; 0 without a limiter. */
  readonly liveMs: number;
}

/** Calls `act` at random times, on average every `meanMs`. @returns stops it */
function atRandom(meanMs: number, act: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  const next = (): void => {
    timer = setTimeout(() => (act(), next()), -meanMs * Math.log(1 - Math.random()));
  };
  next();
  return () => clearTimeout(timer);
}

const connections = 32;
const latencyMs = [20, 60] as const;
const meanLatencyMs = (latencyMs[0] + latencyMs[1]) / 2;
const caller = fileURLToPath(new URL("caller.ts", import.meta.url));

/** Resolves when each of the callers has sent its next message. */
function nextMessages(callers: readonly ChildProcess[]): Promise<unknown[]> {
  return Promise.all(
    callers.map(
      (child) =>
        new Promise((resolve, reject) => {
          const ended = (code: number | null): void => reject(new Error(`a caller ended with ${code}`));
          child.once("exit", ended);
          child.once("message", (message) => {
            child.off("exit", ended);
            resolve(message);
          });
        }),
    ),
  );
}

const noFigures = { ratio: 0, cpuMs: Number.NaN, redisCalls: Number.NaN, liveMs: 0 };

let lastTurn = Promise.resolve();

/** One trial starts at a time: processes that start take the processor from the first calls of the others. */
async function takeTurn(): Promise<() => void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const before = lastTurn;
  lastTurn = promise;
  await before;
  return resolve;
}

async function signIn({ url, options: { authKeyId, authKey } }: Sandbox): Promise<Record<string, string>> {
  const { body } = await request(`${url}/v1/auth`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ authKeyId, authKey }),
  });
  const pair = (await body.json()) as { apiKey: string; token: string };
  return { "x-svc-api-key": pair.apiKey, "x-svc-token": pair.token };
}

export async function runTrial(limiter: string, cell: Cell, redis: string, prefix: string): Promise<Trial> {
  const { limit, periodMs, processes, limits } = cell;
  const intoWindowMs = periodMs / 2;
  const sandbox = await startSandbox({
    port: 0,
    sims: 5,
    limits: { Sim: limit, Auth: 1_000 },
    periodSeconds: periodMs / 1_000,
    rounding: cell.rounding,
    latencyMs: [...latencyMs],
    windowOffsetMs: intoWindowMs,
    competitor: cell.competitor > 0 ? { Sim: cell.competitor } : {},
    limitChanges: (limits ?? []).map((then, index) => ({
      group: "Sim" as const,
      limit: then,
      afterMs: Math.max(0, index * periodMs - intoWindowMs),
    })),
  });
  const endTurn = await takeTurn();
  const callers = Array.from({ length: processes }, () =>
    fork(caller, { stdio: ["ignore", "ignore", "inherit", "ipc"] }),
  );
  let bursting: NodeJS.Timeout | undefined;
  const others = { asked: 0, refused: 0, stop: [] as (() => void)[] };
  const liveMs: number[] = [];
  const store = new Redis({ path: redis, lazyConnect: true });
  try {
    const assignment: Assignment = {
      limiter,
      url: sandbox.url,
      headers: await signIn(sandbox),
      connections,
      limit,
      periodMs,
      processes,
      redis,
      prefix,
      calls: cell.calls / processes,
      clockJumpMs: cell.clockJumpMs,
    };
    const ready = nextMessages(callers);
    for (const child of callers) child.send(assignment);
    await ready;

    sandbox.throttle.reset();
    const startedAtMs = Number(process.hrtime.bigint()) / 1e6;
    const startedMs = systemClock.monotonicMs();
    const windowOf = (atMs: number): number => Math.floor((atMs - startedMs + intoWindowMs) / periodMs);
    const bursts: number[] = [];
    if (cell.burst !== undefined) {
      const { calls, everyMs } = cell.burst;
      bursting = setInterval(() => {
        for (let n = 0; n < calls && !sandbox.throttle.isSpent("Sim", ""); n += 1) {
          sandbox.throttle.accept("Sim", "");
          bursts.push(windowOf(systemClock.monotonicMs()));
        }
      }, everyMs);
    }
    const spend = (calls: number): void => {
      for (let n = 0; n < calls; n += 1) {
        others.asked += 1;
        if (sandbox.throttle.isSpent("Sim", "")) others.refused += 1;
        else bursts.push(windowOf(systemClock.monotonicMs()));
        sandbox.throttle.accept("Sim", "");
      }
    };
    const { rival, live } = cell;
    if (rival !== undefined) {
      others.stop.push(atRandom((periodMs * rival.burst) / (rival.share * limit), () => spend(rival.burst)));
    }
    const permits = new Limiter({ redis: store, keys: new Keys(`{${prefix}}`), periodMs });
    const liveCall = async (): Promise<void> => {
      const beganMs = systemClock.monotonicMs();
      if (limiter !== "simfleet") return spend(1);
      others.asked += 1;
      const permit = await permits.acquire({ bucket: "peers.Sim", urgency: "priority" });
      liveMs.push(systemClock.monotonicMs() - beganMs);
      permit.sending();
      const { statusCode, headers, body } = await request(`${sandbox.url}/v1/sims?limit=1`, {
        headers: assignment.headers,
      });
      await body.dump();
      const [of, left, seconds] = ["limit", "remaining", "seconds-before-refresh"].map((name) =>
        Number(headers[`x-svc-ratelimit-${name}`]),
      );
      const reading = { limit: of ?? 0, remaining: left ?? 0, secondsBeforeRefresh: seconds ?? 0 };
      permit.answered({ reading, throttled: statusCode === 429 });
      if (statusCode === 429) others.refused += 1;
      else bursts.push(windowOf(systemClock.monotonicMs()));
    };
    if (live > 0) {
      others.stop.push(atRandom(periodMs / (live * limit), () => void liveCall().catch(() => (others.refused += 1))));
    }
    for (const child of callers) child.send("go");
    setTimeout(endTurn, 1_000);

    const min = (): number => {
      const windows = new Map(
        sandbox.throttle.windows("Sim").map((window) => [windowOf(window.startedAtMs + 1), window]),
      );
      const perWindow = (index: number): number =>
        (limits?.[Math.min(index, limits.length - 1)] ?? limit) -
        (windows.get(index)?.competitor ?? 0) -
        bursts.filter((window) => window === index).length;
      return minTimeMs(
        cell.calls,
        { periodMs, perWindow, beginAfterStartMs: intoWindowMs },
        { meanLatencyMs, connections: connections * processes },
      );
    };
    const accepted = (): number =>
      sandbox.throttle.windows("Sim").reduce((sum, window) => sum + window.accepted, 0) - bursts.length;
    const deadlineMs = startedMs + 4 * min() + 5_000;
    while (accepted() < cell.calls) {
      if (systemClock.monotonicMs() > deadlineMs) {
        const { throttled } = sandbox.state.totals;
        return { ...noFigures, throttled, othersRefused: others.refused / others.asked };
      }
      await systemClock.sleep(20);
    }
    await systemClock.sleep(2 * latencyMs[1]); // the last responses are on their way
    const reports = nextMessages(callers);
    for (const child of callers) child.send("finish");
    const results = (await reports) as Report[];
    const endedAtMs = Math.max(...results.map((report) => report.endedAtMs));
    const sum = (of: "cpuMs" | "redisCalls"): number => results.reduce((total, report) => total + report[of], 0);
    return {
      ratio: min() / (endedAtMs - startedAtMs),
      throttled: sandbox.state.totals.throttled,
      cpuMs: sum("cpuMs") / cell.calls,
      redisCalls: sum("redisCalls") / cell.calls,
      othersRefused: others.asked === 0 ? 0 : others.refused / others.asked,
      liveMs: liveMs.toSorted((a, b) => a - b)[Math.floor(liveMs.length * 0.99)] ?? 0,
    };
  } finally {
    endTurn();
    clearInterval(bursting);
    for (const stop of others.stop) stop();
    store.disconnect();
    await Promise.all(
      callers.map(async (child) => {
        if (child.exitCode !== null || child.signalCode !== null) return;
        child.kill("SIGKILL");
        await once(child, "exit");
      }),
    );
    await sandbox.close();
  }
}
