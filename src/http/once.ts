/**
 * Runs a request that creates something once, even if it arrives again with the same `Idempotency-Key`. The response is
 * kept for a day and sent again. The object gets its id before it is created. If the process dies in between, a
 * repeated request finds the object by that id, so there is no duplicate.
 */
import { createHash } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Creation } from "#contract/route.ts";
import { errorCatalogue, SimfleetError } from "#core/errors.ts";
import type { Remembered } from "#engine/idempotency.ts";
import type { ControlDeps } from "./deps.ts";
import { actorOf } from "./auth/principal.ts";

const keyForm = /^[\x21-\x7e]{1,255}$/;

interface Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly status: 201 | 202;
  /** Hash of rows that came as a whole, hex. */
  readonly sha256: string | undefined;
}

/**
 * Runs the request, or returns the stored answer.
 * @throws SimfleetError IDEMPOTENCY_REUSED, IDEMPOTENCY_BUSY; what `create` throws; then no response is stored
 */
export async function once<T extends object>(
  { idempotency }: ControlDeps,
  exchange: Exchange,
  creation: Creation<T> & { readonly about?: (answer: T) => string | undefined },
): Promise<FastifyReply> {
  const { request, reply } = exchange;
  const noted = (created: T): T => {
    if (request.audit !== undefined) request.audit.about = creation.about?.(created);
    return created;
  };
  const sha256 = creation.sha256 ?? exchange.sha256;
  const key = keyIn(request);
  if (key === undefined) {
    const created = await creation.create(creation.newId());
    return send(reply, answerOf(exchange, noted(created), creation));
  }
  const claim = await idempotency
    .begin({
      id: digestOf(actorOf(request.principal), request.method, request.routeOptions.url, key),
      fingerprint: digestOf(request.url, sha256 ?? JSON.stringify(request.body ?? null)),
      ref: creation.newId(),
    })
    .catch(async (thrown: unknown) => {
      await creation.abandon?.();
      throw thrown;
    });
  if ("status" in claim) {
    await creation.abandon?.();
    return send(reply.header("idempotent-replayed", "true"), claim);
  }
  try {
    const found = claim.isResumed ? await creation.find?.(claim.ref) : undefined;
    if (found !== undefined) await creation.abandon?.();
    const created = found ?? (await creation.create(claim.ref));
    const answer = answerOf(exchange, noted(created), creation);
    await claim.answer(answer);
    return await send(reply, answer);
  } catch (thrown) {
    const isRefusal = thrown instanceof SimfleetError && errorCatalogue[thrown.code].status < 500;
    // A rejected request created nothing. After any other error this is unknown, and the request continues under the same id.
    await (isRefusal ? claim.forget() : claim.release()).catch(() => undefined);
    throw thrown;
  }
}

function answerOf<T extends object>({ reply, status }: Exchange, created: T, { pathOf }: Creation<T>): Remembered {
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
    .serializer((text: unknown) => text as string)
    .send(body);
}

function keyIn({ headers }: FastifyRequest): string | undefined {
  const key = headers["idempotency-key"];
  if (key === undefined) return undefined;
  if (typeof key === "string" && keyForm.test(key)) return key;
  throw new SimfleetError("REQUEST_INVALID", "An Idempotency-Key must have 1 to 255 visible ASCII characters");
}

function digestOf(...parts: readonly unknown[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}
