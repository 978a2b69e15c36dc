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
/** Codes with which a request can be refused because its repeat, which arrived at the same time, was carried out. */
const conflicts: ReadonlySet<string> = new Set(["RUN_STATE_CONFLICT", "ROTATION_STATE_CONFLICT"]);
/** How often to look whether it was, and how long to wait in between. */
const looks = 5;
const lookEveryMs = 100;

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
  { redis, keys, clock }: Pick<Kernel, "redis" | "keys" | "clock">,
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
    if (key === undefined) return await answer(exchange, creation, { created: await create(creation.newId()) });
    const sender = toDigest(actorOf(request.principal), request.method, request.routeOptions.url, key);
    const place = keys.of("idempotency", sender);
    const sha256 = creation.sha256 ?? exchange.sha256;
    const fingerprint = toDigest(request.url, sha256 ?? JSON.stringify(request.body ?? null));
    const claimed = JSON.stringify({ fingerprint, ref: creation.newId() } satisfies Claim);
    const isNew = (await redis.set(place, claimed, "EX", keepSeconds, "NX")) === "OK";
    // A key that has just been freed belongs to this request.
    const text = (isNew ? null : await redis.get(place)) ?? claimed;
    const claim = JSON.parse(text) as Claim;
    const { ref } = claim;
    if (claim.fingerprint !== fingerprint) {
      const message = "This Idempotency-Key was sent with another request: choose a new one";
      throw new SimfleetError("IDEMPOTENCY_REUSED", message);
    }
    if (claim.isDone === true) return await answer(exchange, creation, { replayed: await creation.show(ref) });
    const isMade = async (): Promise<boolean> => !isNew && (await creation.exists?.(ref)) === true;
    const unlessMade = async (thrown: unknown): Promise<undefined> => {
      if (!(thrown instanceof SimfleetError) || errorCatalogue[thrown.code].status >= 500) throw thrown;
      for (let left = conflicts.has(thrown.code) ? looks : 0; left > 0; left -= 1) {
        if ((await redis.get(place))?.includes('"isDone"') === true || (await isMade())) return undefined;
        await clock.sleep(lookEveryMs);
      }
      // It created nothing, so the key is free again.
      if ((await redis.get(place)) === text) await redis.del(place);
      throw thrown;
    };
    const created = (await isMade()) ? undefined : await create(ref).catch(unlessMade);
    await redis.set(place, JSON.stringify({ ...claim, isDone: true } satisfies Claim), "EX", keepSeconds);
    if (created !== undefined) return await answer(exchange, creation, { created });
    const found = await creation.show(ref);
    return await answer(exchange, creation, { created: found, replayed: found });
  } finally {
    if (!isUsed) await creation.abandon?.();
  }
}

/** @param result `replayed`: a request before this one has created it; `created`: none has answered with it yet */
function answer(
  { request, reply, route }: Exchange,
  { pathOf }: Creation<object>,
  { created, replayed }: { readonly created?: object; readonly replayed?: object },
): FastifyReply {
  const shown = replayed ?? created ?? {};
  if (replayed !== undefined) reply.header("idempotent-replayed", "true");
  if (created !== undefined && request.audit !== undefined) request.audit.about = aboutOf(route, created);
  if (pathOf !== undefined) reply.header("location", `/v1${pathOf(shown)}`);
  return reply.code(route.status === 201 ? 201 : 202).send(shown);
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
