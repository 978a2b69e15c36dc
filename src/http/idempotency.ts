/**
 * Runs a request that creates something once, even if it arrives again with the same `Idempotency-Key`. The response is
 * kept for a day and sent again. The key keeps the id of the object being created, so a request repeated after its
 * process died creates the same object, or finds that it exists. A lock keeps two from creating it at once.
 */
import { hash } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import { aboutOf, type Creation, type Route } from "#contract/route.ts";
import { errorCatalogue, SimfleetError } from "#core/errors.ts";
import { minuteMs } from "#core/time.ts";
import type { Kernel } from "#kernel/kernel.ts";
import { actorOf } from "./auth/access.ts";

const keyForm = /^[\x21-\x7e]{1,255}$/;
const keepSeconds = 86_400;
/** Longest time of a request. If its process died, it can be repeated after this time. */
const lockedMs = minuteMs;

interface Remembered {
  readonly status: number;
  readonly location: string | undefined;
  readonly body: string;
}

interface Stored {
  readonly fingerprint: string;
  readonly ref: string;
  readonly answer?: Remembered;
}

interface Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly route: Route;
  /** Hash of rows that came as a whole, hex. */
  readonly sha256: string | undefined;
}

type Store = Pick<Kernel, "redis" | "keys">;

/**
 * Runs the request, or returns the stored answer.
 * @throws SimfleetError IDEMPOTENCY_REUSED, IDEMPOTENCY_BUSY; what `create` throws; then no response is stored
 */
export async function once(store: Store, exchange: Exchange, creation: Creation<object>): Promise<FastifyReply> {
  const { request, reply } = exchange;
  const key = keyIn(request);
  let isUsed = false;
  const create = async (id: string): Promise<object> => {
    isUsed = true;
    return creation.create(id);
  };
  try {
    if (key === undefined) return await send(reply, makeAnswer(exchange, await create(creation.newId()), creation));
    const sha256 = creation.sha256 ?? exchange.sha256;
    const claim = await claimKey(store, {
      id: toDigest(actorOf(request.principal), request.method, request.routeOptions.url, key),
      fingerprint: toDigest(request.url, sha256 ?? JSON.stringify(request.body ?? null)),
      ref: creation.newId(),
    });
    if ("status" in claim) return await send(reply.header("idempotent-replayed", "true"), claim);
    const answer = await claim.keep(async () => {
      const found = claim.isResumed ? await creation.find?.(claim.ref) : undefined;
      return makeAnswer(exchange, found ?? (await create(claim.ref)), creation);
    });
    return await send(reply, answer);
  } finally {
    if (!isUsed) await creation.abandon?.();
  }
}

/**
 * Claims a key for a request, or returns the response that the request received before.
 * @param request `id` is derived from the caller, the route and the key; `ref` is used if the request is new
 * @throws SimfleetError IDEMPOTENCY_REUSED, IDEMPOTENCY_BUSY
 */
export async function claimKey({ redis, keys }: Store, { id, ...request }: Stored & { readonly id: string }) {
  const key = keys.of("idempotency", id);
  const lock = keys.of("idempotency", id, "lock");
  const isLocked = (await redis.set(lock, "", "PX", lockedMs, "NX")) === "OK";
  const isNew = (await redis.set(key, JSON.stringify(request), "EX", keepSeconds, "NX")) === "OK";
  const text = isNew ? null : await redis.get(key);
  // A key that has just been freed belongs to the request.
  const stored = text === null ? request : (JSON.parse(text) as Stored);
  const isOther = stored.fingerprint !== request.fingerprint;
  if (isLocked && (isOther || stored.answer !== undefined)) await redis.del(lock);
  if (isOther) {
    throw new SimfleetError(
      "IDEMPOTENCY_REUSED",
      "This Idempotency-Key was sent with another request: choose a new one",
    );
  }
  if (stored.answer !== undefined) return stored.answer;
  if (!isLocked) {
    // Locked before Redis's clock was set back.
    if ((await redis.pttl(lock)) > lockedMs) await redis.pexpire(lock, lockedMs);
    throw new SimfleetError("IDEMPOTENCY_BUSY", "The first request with this Idempotency-Key is still in progress");
  }
  /** Keeps the response. A rejected request created nothing; after any other error it continues under the same id. */
  const keep = async (make: () => Promise<Remembered>): Promise<Remembered> => {
    try {
      const answer = await make();
      await redis.set(key, JSON.stringify({ ...stored, answer }), "EX", keepSeconds);
      await redis.del(lock);
      return answer;
    } catch (thrown) {
      const isRefusal = thrown instanceof SimfleetError && errorCatalogue[thrown.code].status < 500;
      await redis.del(lock, ...(isRefusal ? [key] : [])).catch(() => undefined);
      throw thrown;
    }
  };
  /** `isResumed`: an earlier attempt may have created the object already. */
  return { ref: stored.ref, isResumed: !isNew, keep };
}

function makeAnswer({ request, reply, route }: Exchange, created: object, { pathOf }: Creation<object>): Remembered {
  if (request.audit !== undefined) request.audit.about = aboutOf(route, created);
  const status = route.status === 201 ? 201 : 202;
  reply.code(status);
  const location = pathOf === undefined ? undefined : `/v1${pathOf(created)}`;
  // The route's schema guarantees a string.
  return { status, location, body: reply.serialize(created) as string };
}

function send(reply: FastifyReply, { status, location, body }: Remembered): FastifyReply {
  if (location !== undefined) reply.header("location", location);
  return reply
    .code(status)
    .type("application/json; charset=utf-8")
    .serializer((json: unknown) => json as string)
    .send(body);
}

function keyIn({ headers }: FastifyRequest): string | undefined {
  const key = headers["idempotency-key"];
  if (key === undefined) return undefined;
  if (typeof key === "string" && keyForm.test(key)) return key;
  throw new SimfleetError("REQUEST_INVALID", "An Idempotency-Key must have 1 to 255 visible ASCII characters");
}

function toDigest(...parts: readonly unknown[]): string {
  return hash("sha256", JSON.stringify(parts));
}
