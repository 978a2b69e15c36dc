/**
 * Carries out a plan of faults on a stage, heals everything at the end, and counts what may have cost: calls that were
 * in flight when something broke may be made again, or have an unknown outcome.
 */
import type { FaultKind, Plan, PlannedFault } from "./plan.ts";
import { callsPerPeriod, connections, rowsInHand, type Stage, type Station } from "./stage/stage.ts";
import { nowMs, sleep } from "./time.ts";

/** A fault that was carried out. */
export interface Blow {
  readonly kind: FaultKind;
  readonly worker: number;
  readonly atMs: number;
  readonly lastedMs: number;
  readonly note: string;
}

export interface Damage {
  readonly blows: Blow[];
  /** Rows that were in hand of a worker when something broke, at most: safe calls of them may be repeated. */
  inHand: number;
  /** Processes that were killed by a signal. */
  kills: number;
  /** The latest time that the clock of a worker has shown, ms since the epoch. */
  latestClockMs: number;
}

interface Struck {
  readonly stage: Stage;
  readonly station: Station;
  readonly damage: Damage;
}

type Act = (fault: PlannedFault, struck: Struck) => Promise<string | void>;

const clockJumpsMs = [-3_600_000, -60_000, -5_000, 5_000, 60_000, 3_600_000];
const allRates = [
  { reset: 0.1 },
  { "lost-answer": 0.1 },
  { slow: 0.1 },
  { truncated: 0.1 },
  { "html-502": 0.2 },
  { "empty-500": 0.2 },
  { "nested-error": 0.2 },
  { "expire-pairs": 0.02 },
  { reset: 0.05, "lost-answer": 0.05, truncated: 0.05, "html-502": 0.05, "empty-500": 0.05, "expire-pairs": 0.01 },
  { "empty-500": 1 },
  { reset: 1 },
] as const;

const acts: Readonly<Record<FaultKind, Act>> = {
  "worker-kill": async ({ lastsMs }, { station, damage }) => {
    damage.inHand += rowsInHand;
    damage.kills += 1;
    await station.worker.kill();
    await sleep(lastsMs);
    station.worker.start();
  },
  "worker-freeze": async ({ lastsMs }, { station, damage }) => {
    // A response may arrive after its timeout.
    damage.inHand += rowsInHand;
    station.worker.signal("SIGSTOP");
    await sleep(lastsMs);
    station.worker.signal("SIGCONT");
  },
  "worker-long-freeze": (fault, struck) => acts["worker-freeze"](fault, struck),
  "worker-term": async ({ lastsMs }, { station, damage }) => {
    damage.inHand += connections;
    const tookMs = await station.worker.terminate();
    await sleep(lastsMs);
    station.worker.start();
    return `stopped within ${Math.round(tookMs)} ms`;
  },
  "redis-kill": async ({ lastsMs }, { stage, damage }) => {
    damage.inHand += rowsInHand * stage.stations.length;
    damage.kills += 1;
    await stage.redis.kill();
    await sleep(lastsMs);
    stage.redis.restart();
  },
  "redis-freeze": async ({ lastsMs }, { stage }) => {
    stage.redis.signal("SIGSTOP");
    await sleep(lastsMs);
    stage.redis.signal("SIGCONT");
  },
  "redis-full": async ({ lastsMs, share }, { stage, damage }) => {
    // A call whose outcome is rejected is made again, each time that there is room for its start and none for its end.
    damage.inHand += 3 * rowsInHand * stage.stations.length;
    await stage.redis.fill(Math.round(share * 60_000));
    await sleep(lastsMs);
    await stage.redis.makeRoom();
  },
  "redis-cut": (_, { station, damage }) => {
    damage.inHand += rowsInHand;
    return Promise.resolve(`${station.redis.cut()} connections`);
  },
  "redis-cut-reply": (fault, { station, damage }) => {
    damage.inHand += rowsInHand;
    return withMode(station.redis, "cut-reply", fault.lastsMs);
  },
  "redis-refuse": (fault, { station, damage }) => {
    damage.inHand += rowsInHand;
    return withMode(station.redis, "refuse", fault.lastsMs);
  },
  "redis-delay": (fault, { station }) => withMode(station.redis, "delay", fault.lastsMs, 20 + 180 * fault.share),
  "redis-stall": (fault, { station }) => withMode(station.redis, "stall", fault.lastsMs),
  "platform-cut": (_, { station, damage }) => {
    const count = station.platform.cut();
    damage.inHand += count;
    return Promise.resolve(`${count} connections`);
  },
  "platform-cut-reply": async (fault, { station, damage }) => {
    const before = station.platform.cutReplies;
    await withMode(station.platform, "cut-reply", fault.lastsMs);
    damage.inHand += station.platform.cutReplies - before;
  },
  "platform-refuse": async (fault, { station, damage }) => {
    const before = station.platform.refused;
    await withMode(station.platform, "refuse", fault.lastsMs);
    damage.inHand += connections + station.platform.refused - before;
  },
  "platform-delay": (fault, { station }) => withMode(station.platform, "delay", fault.lastsMs, 20 + 180 * fault.share),
  "platform-stall": (fault, { station }) => withMode(station.platform, "stall", fault.lastsMs),
  "platform-faults": async ({ lastsMs, share }, { stage }) => {
    const rates = allRates[Math.floor(share * allRates.length)] ?? {};
    stage.sandbox.faults.rates = rates;
    await sleep(lastsMs);
    stage.sandbox.faults.rates = {};
    return JSON.stringify(rates);
  },
  "platform-hang": async ({ lastsMs }, { stage, damage, station }) => {
    // Calls that hang would take 30 s to time out: the network ends them.
    stage.sandbox.faults.rates = { hang: 0.3 };
    await sleep(lastsMs);
    stage.sandbox.faults.rates = {};
    damage.inHand += stage.stations.reduce((sum, { platform }) => sum + platform.cut(), 0);
    return `at worker ${station.worker.number} and others`;
  },
  "platform-quota": async ({ lastsMs, share }, { stage }) => {
    const { throttle } = stage.sandbox;
    if (share < 0.5) throttle.changeLimit({ group: "Sim", limit: Math.round(callsPerPeriod / 6), afterMs: 0 });
    else throttle.compete("Sim", 400);
    await sleep(lastsMs);
    throttle.compete("Sim", 0);
    throttle.changeLimit({ group: "Sim", limit: callsPerPeriod, afterMs: 0 });
    return share < 0.5 ? "a lower limit" : "a competitor";
  },
  "clock-jump": async ({ lastsMs, share }, { station, damage }) => {
    const jumpMs = clockJumpsMs[Math.floor(share * clockJumpsMs.length)] ?? 0;
    station.worker.moveClock(jumpMs);
    await sleep(lastsMs);
    damage.latestClockMs = Math.max(damage.latestClockMs, Date.now() + jumpMs);
    station.worker.moveClock(0);
    return `by ${jumpMs / 1_000} s`;
  },
  "disk-full": async ({ lastsMs }, { stage }) => {
    stage.disk.fill();
    await sleep(lastsMs);
    stage.disk.makeRoom();
    return stage.disk.canBeFull ? "" : "left out: only root can mount a disk";
  },
  "receiver-down": async ({ lastsMs }, { stage }) => {
    stage.receiver.answerWith(() => 503);
    await sleep(lastsMs);
    stage.receiver.answerWith(() => 204);
  },
};

async function withMode(
  proxy: Station["redis"],
  mode: Parameters<Station["redis"]["set"]>[0],
  lastsMs: number,
  delayMs = 0,
): Promise<void> {
  proxy.set(mode, delayMs);
  await sleep(lastsMs);
  proxy.set("pass");
}

/** Resolves when every fault is over and everything is healed. */
export async function strike(stage: Stage, plan: Plan): Promise<Damage> {
  const damage: Damage = { blows: [], inHand: 0, kills: 0, latestClockMs: 0 };
  const beganMs = nowMs();
  await Promise.all(
    plan.faults.map(async (fault) => {
      await sleep(fault.atMs);
      const station = stage.stations[fault.worker];
      if (station === undefined) return;
      const atMs = Math.round(nowMs() - beganMs);
      const note = await acts[fault.kind](fault, { stage, station, damage });
      const lastedMs = Math.round(nowMs() - beganMs) - atMs;
      damage.blows.push({ kind: fault.kind, worker: fault.worker, atMs, lastedMs, note: note ?? "" });
    }),
  );
  await heal(stage);
  return damage;
}

/** Faults that overlap may have undone each other's end. */
async function heal({ sandbox, redis, disk, receiver, stations }: Stage): Promise<void> {
  redis.signal("SIGCONT");
  redis.restart();
  sandbox.faults.rates = {};
  disk.makeRoom();
  receiver.answerWith(() => 204);
  for (const { worker, redis: toRedis, platform } of stations) {
    toRedis.set("pass");
    platform.set("pass");
    worker.signal("SIGCONT");
    worker.moveClock(0);
    worker.start();
  }
  await redis.makeRoom();
}
