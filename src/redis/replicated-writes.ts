/**
 * Writes that must outlive a failover, or a power failure: Redis acknowledges that a replica has them (WAIT), or that
 * they are in its file (WAITAOF), before the caller continues. Both hold up their connection, so this has one of its
 * own, and writes that arrive in the meantime share the next acknowledgement.
 */
import type { Redis } from "ioredis";
import type { Script } from "./script.ts";
import type { RedisFacts } from "./verify.ts";

/** A replica that is there answers within milliseconds. */
const maxReplicaMs = 1_000;
/** With `appendfsync everysec` the file is written once a second. */
const maxFileMs = 3_000;
const maxAtOnce = 500;

/** The write was made, but a failover or a power failure would lose it. */
export class NotReplicatedError extends Error {}

/** The acknowledgements that are waited for are those that Redis can give. */
type Acknowledgements = Pick<RedisFacts, "hasReplicas" | "acknowledgesFile">;

interface Write {
  readonly script: Script;
  readonly keys: readonly string[];
  readonly args: readonly (string | number | Buffer)[];
  readonly resolve: (reply: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** @param connect opens a connection that nothing else uses */
export function replicatedWrites(connect: () => Redis, needed: Acknowledgements) {
  const waiting: Write[] = [];
  let redis: Redis | undefined;
  let isBusy = false;

  const write = async (): Promise<void> => {
    isBusy = true;
    redis ??= connect();
    while (waiting.length > 0) {
      const writes = waiting.splice(0, maxAtOnce);
      const replies = await waitFor(redis, writes, needed);
      const missing = findMissing(replies.slice(writes.length), needed);
      for (const [i, { resolve, reject }] of writes.entries()) {
        const [refusal, reply] = replies[i] ?? [];
        if (refusal?.name === "ReplyError") reject(refusal);
        else if (refusal === null && missing === undefined) resolve(reply);
        else reject(new NotReplicatedError(missing));
      }
    }
    isBusy = false;
  };

  return {
    /**
     * Runs a script; its reply comes once what it wrote is safe.
     * @throws NotReplicatedError
     */
    run: (script: Script, keys: Write["keys"], args: Write["args"]): Promise<unknown> =>
      new Promise((resolve, reject) => {
        waiting.push({ script, keys, args, resolve, reject });
        if (!isBusy) void write();
      }),
  };
}

/** Missing acknowledgement, or undefined. */
function findMissing(
  replies: readonly [Error | null, unknown][],
  { hasReplicas, acknowledgesFile }: Acknowledgements,
): string | undefined {
  const counts = replies.map(([, reply]) => Number([reply].flat()[0]) || 0);
  if (hasReplicas && (counts[0] ?? 0) === 0) return "no replica of Redis has acknowledged that a row is sent";
  if (acknowledgesFile && (counts.at(-1) ?? 0) === 0)
    return "Redis has not written to its file in time that a row is sent";
  return undefined;
}

/** A pipeline stays on one connection, in a cluster to the node with the keys. Without one, nothing is acknowledged. */
async function waitFor(
  redis: Redis,
  writes: readonly Write[],
  { hasReplicas, acknowledgesFile }: Acknowledgements,
): Promise<readonly [Error | null, unknown][]> {
  const pipeline = redis.pipeline();
  for (const { script, keys, args } of writes) script.addTo(pipeline, keys, args);
  try {
    if (hasReplicas) pipeline.wait(1, maxReplicaMs);
    if (acknowledgesFile) pipeline.call("WAITAOF", 1, 0, maxFileMs);
    return (await pipeline.exec()) ?? [];
  } catch {
    return [];
  }
}
