/**
 * Runs a request that creates something once, even if it arrives again with the same `Idempotency-Key`. For a day, the
 * key keeps the id of what is created: a request that arrives again finds it, also while the first one is in progress
 * and after its process died, since creating twice with one id creates one thing.
 */
import { hash } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import { aboutOf, type Creation, type Route } from "#contract/route.ts";
import { errorCatalogue, SimfleetError } from "#core/errors.ts";
import type { Kernel } from "#kernel/kernel.ts";
import { actorOf } from "./auth/access.ts";

const keyForm = /^[\x21-\x7e]{1,255}$/;
const keepSeconds = 86_400;

/** The record of a request. */
interface Claim {
  readonly fingerprint: string;
  /** The id of what it creates. */
  readonly ref: string;
  /** Whether the request was carried out. */
  readonly isDone?: true;
}

interface Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly route: Route;
  /** Hash of rows that came as a whole, hex. */
  readonly sha256: string | undefined;
}

/**
 * Runs the request, or answers with what it created before, as it is now.
 * @throws SimfleetError IDEMPOTENCY_REUSED; what `create` and `show` throw
 */
export async function once(
  { redis, keys }: Pick<Kernel, "redis" | "keys">,
  exchange: Exchange,
  creation: Creation<object>,
): Promise<FastifyReply> {
  const { request } = exchange;
  const key = keyIn(request);
  let isUsed = false;
  const create = (id: string): Promise<object> => {
    isUsed = true;
    return creation.create(id);
  };
  try {
    if (key === undefined) return await answer(exchange, creation, await create(creation.newId()));
    const place = keys.of(
      "idempotency",
      toDigest(actorOf(request.principal), request.method, exchange.route.path, key),
    );
    const sha256 = creation.sha256 ?? exchange.sha256;
    const fingerprint = toDigest(request.url, sha256 ?? JSON.stringify(request.body ?? null));
    const claimed = JSON.stringify({ fingerprint, ref: creation.newId() } satisfies Claim);
    const isNew = (await redis.set(place, claimed, "EX", keepSeconds, "NX")) === "OK";
    // A key that has just been freed belongs to this request.
    const claim = JSON.parse((isNew ? null : await redis.get(place)) ?? claimed) as Claim;
    if (claim.fingerprint !== fingerprint) {
      throw new SimfleetError(
        "IDEMPOTENCY_REUSED",
        "This Idempotency-Key was sent with another request: choose a new one",
      );
    }
    const isMade = claim.isDone === true || (!isNew && (await creation.exists?.(claim.ref)) === true);
    const created = isMade
      ? undefined
      : await create(claim.ref).catch(async (thrown: unknown) => {
          const isRefusal = thrown instanceof SimfleetError && errorCatalogue[thrown.code].status < 500;
          // A rejected request created nothing, unless the same one was carried out meanwhile.
          if (isNew && isRefusal && (await redis.get(place).catch(() => null)) === claimed) {
            await redis.del(place).catch(() => undefined);
          }
          throw thrown;
        });
    const done = JSON.stringify({ ...claim, isDone: true } satisfies Claim);
    if (claim.isDone !== true) await redis.set(place, done, "EX", keepSeconds);
    if (created !== undefined) return await answer(exchange, creation, created);
    return await answer(exchange, creation, await creation.show(claim.ref), "replayed");
  } finally {
    if (!isUsed) await creation.abandon?.();
  }
}

function answer(
  { request, reply, route }: Exchange,
  { pathOf }: Creation<object>,
  created: object,
  how?: "replayed",
): FastifyReply {
  if (how === "replayed") reply.header("idempotent-replayed", "true");
  else if (request.audit !== undefined) request.audit.about = aboutOf(route, created);
  if (pathOf !== undefined) reply.header("location", `/v1${pathOf(created)}`);
  return reply.code(route.status === 201 ? 201 : 202).send(created);
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
