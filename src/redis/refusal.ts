/**
 * Explains errors of a Redis that answers but rejects a command (full, read-only, a user without permission) to an operator.
 * Errors caused by simfleet itself (a wrong command, a wrong type) are not among them.
 */
import type { Redis } from "ioredis";
import { SimfleetError } from "#core/errors.ts";
import type { Keys } from "./keys.ts";

/** The prefix of an error, and its fix. */
const hints: Readonly<Record<string, string>> = {
  OOM: "it is full: raise its maxmemory, or delete data",
  MISCONF: "it cannot save its data: make room on its disk, or make it writable",
  READONLY: "it is a replica: SIMFLEET_REDIS_URL has to name the primary",
  NOPERM: "its user may not do this: docs/redis.md has the ACL that simfleet needs",
  NOAUTH: "it requires a password: set SIMFLEET_REDIS_PASSWORD_FILE",
  WRONGPASS: "it does not accept the password: check SIMFLEET_REDIS_PASSWORD_FILE",
  LOADING: "it is still loading its data: try again when it is done",
  MASTERDOWN: "its primary is unavailable",
  NOREPLICAS: "too few of its replicas are connected",
};

/** @returns a SimfleetError STORE_UNAVAILABLE if Redis rejected the command; any other error unchanged */
export function inWordsOfRedis(thrown: unknown): unknown {
  if (!(thrown instanceof Error) || thrown.name !== "ReplyError") return thrown;
  const reasons = [thrown, ...refusedCommands(thrown)].map(({ message }) => message);
  for (const reason of reasons) {
    const fix = hints[reason.split(" ", 1)[0] ?? ""];
    if (fix === undefined) continue;
    return new SimfleetError("STORE_UNAVAILABLE", `Redis rejects commands: ${fix} (${reason})`, { cause: thrown });
  }
  return thrown;
}

/** Removes what is never there, which is a write. @throws SimfleetError STORE_UNAVAILABLE if Redis rejects it, as on a full disk */
export async function assertWritable(redis: Redis, keys: Keys): Promise<void> {
  await redis.unlink(keys.of("probe")).catch((thrown: unknown) => Promise.reject(inWordsOfRedis(thrown) as Error));
}

/** A transaction fails with EXECABORT, and lists the errors of its commands separately. */
function refusedCommands(thrown: Error & { readonly previousErrors?: readonly Error[] }): readonly Error[] {
  return thrown.previousErrors ?? [];
}
