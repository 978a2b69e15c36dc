/**
 * Runs a request that creates something once, even if it arrives again with the same `Idempotency-Key`. For a day, the
 * key keeps the id of what is created: a request that arrives again finds it, also while the first one is in progress
 * and after its process died, since creating twice with one id creates one thing. A rejected request leaves the id to
 * its repeats, too: another one may be in progress.
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
  /** Whether it was rejected: the key may be used for another request. */
  readonly isRejected?: true;
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
    const claims = claimsAt(redis, place);
    const own: Claim = { fingerprint, ref: creation.newId() };
    const isNew = await claims.add(own);
    const first = (isNew ? undefined : await claims.read()) ?? own;
    const isOther = first.fingerprint !== fingerprint;
    if (isOther && first.isRejected !== true) {
      const message = "This Idempotency-Key was sent with another request: choose a new one";
      throw new SimfleetError("IDEMPOTENCY_REUSED", message);
    }
    if (isOther) await claims.write(own);
    const { ref, isDone } = isOther ? own : first;
    if (isDone === true) return await answer(exchange, creation, { replayed: await creation.show(ref) });
    // What a rejected request asked for may be there by another's doing, as a plan that someone else has started.
    const mayBeMade = !isNew && first.isRejected !== true;
    const isMade = async (): Promise<boolean> => mayBeMade && (await creation.exists?.(ref)) === true;
    const unlessMade = async (thrown: unknown): Promise<undefined> => {
      if (!(thrown instanceof SimfleetError) || errorCatalogue[thrown.code].status >= 500) throw thrown;
      for (let left = conflicts.has(thrown.code) ? looks : 0; left > 0; left -= 1) {
        if ((await claims.read())?.isDone === true || (await isMade())) return undefined;
        await clock.sleep(lookEveryMs);
      }
      const now = await claims.read();
      if (now?.ref === ref && now.isDone !== true) await claims.write({ fingerprint, ref, isRejected: true });
      throw thrown;
    };
    const created = (await isMade()) ? undefined : await create(ref).catch(unlessMade);
    await claims.write({ fingerprint, ref, isDone: true });
    if (created !== undefined) return await answer(exchange, creation, { created });
    const found = await creation.show(ref);
    return await answer(exchange, creation, { created: found, replayed: found });
  } finally {
    if (!isUsed) await creation.abandon?.();
  }
}

/** The claim that is kept under a key of Redis. */
function claimsAt(redis: Kernel["redis"], place: string) {
  return {
    /** @returns whether there was none */
    add: async (claim: Claim): Promise<boolean> =>
      (await redis.set(place, JSON.stringify(claim), "EX", keepSeconds, "NX")) === "OK",
    write: (claim: Claim): Promise<unknown> => redis.set(place, JSON.stringify(claim), "EX", keepSeconds),
    read: async (): Promise<Claim | undefined> => {
      const text = await redis.get(place);
      return text === null ? undefined : (JSON.parse(text) as Claim);
    },
  };
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
  reply.header("location", `/v1${pathOf(shown)}`);
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
