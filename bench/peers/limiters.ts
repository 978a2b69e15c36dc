/**
 * The limiters that `bench/peers.ts` compares, each used as its documentation advises for this platform: a fixed limit
 * per window, and a 429 that says after how many seconds to try again. All make the same calls over equal connections.
 */
import { Queue, RateLimitError, Worker } from "bullmq";
import Bottleneck from "bottleneck";
import { Redis } from "ioredis";
import { systemClock } from "#core/time.ts";
import { Limiter } from "#limiter/limiter.ts";
import { Keys } from "#redis/keys.ts";

/** What a response says. */
export interface Response {
  readonly throttled: boolean;
  readonly limit: number;
  readonly remaining: number;
  readonly secondsBeforeRefresh: number;
}

/** What a limiter has to work with in one process. */
export interface Setup {
  readonly call: () => Promise<Response>;
  /** Calls at once. */
  readonly connections: number;
  readonly limit: number;
  readonly periodMs: number;
  readonly processes: number;
  /** Path of the socket of Redis. */
  readonly redis: string;
  /** Prefix of the names of keys, for this run only. */
  readonly prefix: string;
  /** Calls to make in this process. */
  readonly calls: number;
  /** Resolves when the calls of all processes are made. */
  readonly finished: Promise<void>;
}

export interface Prepared {
  /** Resolves when each call of this process is accepted, or when all processes have finished. */
  run(): Promise<void>;
  close(): Promise<unknown>;
}

const nothingToClose = (): Promise<void> => Promise.resolve();

function waitMs({ secondsBeforeRefresh }: Response): number {
  return Math.max(100, secondsBeforeRefresh * 1_000);
}

/** As many loops as connections; each sends until its call is accepted, and waits after a 429 as long as it says. */
async function inLoops(
  { calls, connections }: Setup,
  send: () => Promise<Response>,
  afterThrottledMs = waitMs,
): Promise<void> {
  let left = calls;
  const loop = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      for (let response = await send(); response.throttled; response = await send()) {
        await systemClock.sleep(afterThrottledMs(response));
      }
    }
  };
  await Promise.all(Array.from({ length: connections }, loop));
}

/** Says how many calls it still wants; a run knows that of all its processes. */
function simfleet(setup: Setup): Prepared {
  const redis = new Redis({ path: setup.redis });
  const limiter = new Limiter({ redis, keys: new Keys(`{${setup.prefix}}`), periodMs: setup.periodMs });
  let wanted = setup.calls;
  const options = { backlog: () => wanted };
  const acquire = async (): Promise<Awaited<ReturnType<typeof limiter.acquire>>> => {
    for (;;) {
      try {
        return await limiter.acquire({ bucket: "peers.Sim", urgency: "normal", ...options });
      } catch (error) {
        const { code, retryAfterMs } = error as { code?: string; retryAfterMs?: number };
        if (code !== "PLATFORM_RATE_LIMITED") throw error;
        await systemClock.sleep(retryAfterMs ?? 100);
      }
    }
  };
  const send = async (): Promise<Response> => {
    const permit = await acquire();
    permit.sending();
    const response = await setup.call();
    permit.answered({ reading: response, throttled: response.throttled });
    if (!response.throttled) wanted -= 1;
    return response;
  };
  return { run: () => inLoops(setup, send), close: () => redis.quit() };
}

/** A job per call in one queue. The processor says what to do after a 429. */
async function bullmq(
  setup: Setup,
  limiter: { max: number; duration: number },
  afterThrottled: (queue: Queue, response: Response) => Promise<void>,
): Promise<Prepared> {
  const { call, calls, connections, finished, prefix } = setup;
  const connection = { path: setup.redis, maxRetriesPerRequest: null };
  const queue = new Queue("calls", { connection, prefix: `{${prefix}}` });
  await queue.addBulk(
    Array.from({ length: calls }, () => ({ name: "call", data: {}, opts: { removeOnComplete: true } })),
  );
  const worker = new Worker(
    "calls",
    async () => {
      for (let response = await call(); response.throttled; response = await call()) {
        await afterThrottled(queue, response);
      }
    },
    { connection, prefix: `{${prefix}}`, concurrency: connections, limiter, autorun: false },
  );
  worker.on("error", () => undefined);
  await worker.waitUntilReady();
  return {
    run: () => {
      void worker.run();
      return finished;
    },
    close: () => Promise.all([worker.close(true), queue.close()]),
  };
}

/** The limit is known beforehand; a job that meets a 429 all the same waits. */
const bullmqLimiter = (setup: Setup): Promise<Prepared> =>
  bullmq(setup, { max: setup.limit, duration: setup.periodMs }, (_, response) => systemClock.sleep(waitMs(response)));

/** The limit is not known; a 429 stops the queue for as long as it says. */
const bullmqOn429 = (setup: Setup): Promise<Prepared> =>
  bullmq(setup, { max: 1_000_000_000, duration: setup.periodMs }, async (queue, response) => {
    await queue.rateLimit(waitMs(response));
    throw new RateLimitError();
  });

/** A reservoir per window, in Redis if there are several processes. */
async function bottleneck(setup: Setup): Promise<Prepared> {
  const { limit, periodMs, processes, prefix } = setup;
  const limiter = new Bottleneck({
    id: prefix,
    reservoir: limit,
    reservoirRefreshAmount: limit,
    reservoirRefreshInterval: periodMs,
    ...(processes > 1 && { datastore: "ioredis", Redis, clientOptions: { path: setup.redis } }),
  });
  limiter.on("error", () => undefined);
  await limiter.ready();
  return { run: () => inLoops(setup, () => limiter.schedule(setup.call)), close: () => limiter.disconnect() };
}

function bareLoop(setup: Setup): Prepared {
  return { run: () => inLoops(setup, setup.call), close: nothingToClose };
}

export const limiters: Readonly<Record<string, (setup: Setup) => Prepared | Promise<Prepared>>> = {
  simfleet,
  "BullMQ limiter": bullmqLimiter,
  "BullMQ on 429": bullmqOn429,
  Bottleneck: bottleneck,
  "bare loop": bareLoop,
};
