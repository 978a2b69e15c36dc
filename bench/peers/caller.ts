/** One process of a trial: makes its calls through one limiter, and reports what that took. Started by `trial.ts`. */
import { Redis } from "ioredis";
import { Pool } from "undici";
import { systemClock } from "#core/time.ts";
import { type Response, type Setup, limiters } from "./limiters.ts";

/** Sent by the parent. */
export interface Assignment extends Omit<Setup, "call" | "finished"> {
  readonly limiter: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds by which the wall clock jumps 8 s after the start. */
  readonly clockJumpMs: number;
}

/** Sent to the parent. */
export interface Report {
  /** Of the last accepted call, on the clock that the processes of a machine share. */
  readonly endedAtMs: number;
  readonly cpuMs: number;
  readonly redisCalls: number;
}

let redisCalls = 0;
const clientPrototype = Redis.prototype as { sendCommand: (...args: unknown[]) => unknown };
clientPrototype.sendCommand = new Proxy(clientPrototype.sendCommand, {
  apply(send, client, args): unknown {
    redisCalls += 1;
    return Reflect.apply(send, client, args);
  },
});

function jumpClock(byMs: number): void {
  const SystemDate = Date;
  globalThis.Date = class JumpedDate extends SystemDate {
    constructor(...args: [] | [string | number | Date]) {
      if (args.length === 0) super(SystemDate.now() + byMs);
      else super(args[0]);
    }
    static override now(): number {
      return SystemDate.now() + byMs;
    }
  } as DateConstructor;
}

function nextMessage(): Promise<unknown> {
  return new Promise((resolve) => process.once("message", resolve));
}

const assignment = (await nextMessage()) as Assignment;
const { limiter, url, headers, connections, clockJumpMs } = assignment;
const pool = new Pool(url, { connections, pipelining: 1 });
let endedAtMs = 0;

async function call(): Promise<Response> {
  const {
    statusCode,
    headers: answer,
    body,
  } = await pool.request({ path: "/v1/sims?limit=1", method: "GET", headers });
  await body.dump();
  const throttled = statusCode === 429;
  if (!throttled && statusCode !== 200) throw new Error(`status ${statusCode}`);
  if (!throttled) endedAtMs = Number(process.hrtime.bigint()) / 1e6;
  return {
    throttled,
    limit: Number(answer["x-svc-ratelimit-limit"]),
    remaining: Number(answer["x-svc-ratelimit-remaining"]),
    secondsBeforeRefresh: Number(answer["x-svc-ratelimit-seconds-before-refresh"]),
  };
}

const finish = Promise.withResolvers<void>();
const open = limiters[limiter];
if (open === undefined) throw new Error(`unknown limiter ${limiter}`);
const prepared = await open({ ...assignment, call, finished: finish.promise });
process.send?.("ready");
await nextMessage();
const before = { cpu: process.cpuUsage(), redisCalls };
process.once("message", () => finish.resolve());
if (clockJumpMs !== 0) setTimeout(jumpClock, 8_000, clockJumpMs);
await prepared.run();
await finish.promise;
const { user, system } = process.cpuUsage(before.cpu);
const report: Report = {
  endedAtMs,
  cpuMs: (user + system) / 1_000,
  redisCalls: redisCalls - before.redisCalls,
};
process.send?.(report);
await Promise.race([prepared.close(), systemClock.sleep(2_000)]);
process.exit(0);
