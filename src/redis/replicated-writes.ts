/**
 * Writes that must outlive a failover: the primary asks for an acknowledgement of a replica before the caller continues. WAIT
 * holds up its connection, so this has one of its own, and writes that arrive in the meantime share the next WAIT.
 */
import type { Redis } from "ioredis";
import type { Script } from "./script.ts";

/** A replica that is there answers within milliseconds. */
const longestWaitMs = 1_000;
const mostAtOnce = 500;

/** The write was made, but no replica has it: a failover would lose it. */
export class NotReplicatedError extends Error {
  constructor() {
    super("No replica of Redis has acknowledged a write");
  }
}

interface Write {
  readonly script: Script;
  readonly keys: readonly string[];
  readonly args: readonly (string | number | Buffer)[];
  readonly resolve: (reply: unknown) => void;
  readonly reject: (error: Error) => void;
}

export class ReplicatedWrites {
  readonly #connect: () => Redis;
  readonly #waiting: Write[] = [];
  #redis: Redis | undefined;
  #isBusy = false;

  /** @param connect opens a connection that nothing else uses */
  constructor(connect: () => Redis) {
    this.#connect = connect;
  }

  /**
   * Runs a script; its reply comes once a replica has what it wrote.
   * @throws NotReplicatedError
   */
  run(script: Script, keys: Write["keys"], args: Write["args"]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ script, keys, args, resolve, reject });
      if (!this.#isBusy) void this.#write();
    });
  }

  async #write(): Promise<void> {
    this.#isBusy = true;
    const redis = (this.#redis ??= this.#connect());
    while (this.#waiting.length > 0) {
      const writes = this.#waiting.splice(0, mostAtOnce);
      const replies = await waitFor(redis, writes);
      const [, replicas] = replies.at(-1) ?? [];
      for (const [i, { resolve, reject }] of writes.entries()) {
        const [refusal, reply] = replies[i] ?? [];
        if (refusal?.name === "ReplyError") reject(refusal);
        else if (refusal === null && Number(replicas) > 0) resolve(reply);
        else reject(new NotReplicatedError());
      }
    }
    this.#isBusy = false;
  }
}

/** A pipeline stays on one connection, in a cluster to the node that has the keys. Without one, nothing is replicated. */
async function waitFor(redis: Redis, writes: readonly Write[]): Promise<readonly [Error | null, unknown][]> {
  const pipeline = redis.pipeline();
  for (const { script, keys, args } of writes) script.addTo(pipeline, keys, args);
  try {
    return (await pipeline.wait(1, longestWaitMs).exec()) ?? [];
  } catch {
    return [];
  }
}
