/**
 * Writes down every request that changes something, and every one that would have and was refused: who, what, about what,
 * and how it ended. Never a body, a header or a query. The entry is written before the handler runs and its result after
 * it, so that no change is without an entry, whether the client waits for the answer or not; a change whose entry cannot
 * be written is refused. Refusals of nobody in particular are bounded, so that whoever has no token cannot fill the record.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from "fastify";
import { messageOf, SimfleetError } from "#core/errors.ts";
import { type Clock, minuteMs } from "#core/time.ts";
import type { AuditIntent } from "#jobs/audit/service.ts";
import type { ControlDeps } from "./deps.ts";
import { actorOf } from "./auth/principal.ts";
import { problemOf } from "./problem.ts";

/** What a session of the page of the queues has in its path is not for the record. */
const ofSession = /^[\w-]{43}\/?(?=[^?]*$)/;
const idForm = /^[\w-]{1,64}$/;
/** Of callers who are not known, in a minute. */
const mostUnknown = 60;

/** Has to be called before the routes are registered: their handlers are wrapped as they come. */
export function addAudit(server: FastifyInstance, deps: ControlDeps): void {
  const { app, clock, logger } = deps;
  const unknownCallers = new UnknownCallers(clock);
  server.decorateRequest("audit", undefined);
  server.addHook("onRoute", (route) => {
    if (isAudited(route)) route.handler = audited(route.handler, deps);
  });
  server.addHook("onSend", async (request, reply) => {
    const { config, url } = request.routeOptions;
    if (isReading(request) || url === undefined || !isAudited({ config, url })) return;
    // A handler that sends its answer itself is not over yet: whoever has the answer finds the result.
    if (request.audit !== undefined) return finish(deps, request, reply);
    // What has no entry by now was refused before its handler: by the guard, a limit or a schema.
    if (request.principal === undefined && !unknownCallers.mayBeNoted()) return;
    app.control.audit.note(intentOf(request), { status: reply.statusCode }).catch((thrown: unknown) => {
      logger.error({ requestId: request.id }, `a refusal could not be written down: ${messageOf(thrown)}`);
    });
  });
}

/** Files and pages that are open to everybody change nothing. */
function isAudited({ config, url }: Pick<RouteOptions, "config" | "url">): boolean {
  return config?.role !== "open" || url.startsWith("/v1/");
}

function isReading({ method }: FastifyRequest): boolean {
  return method === "GET" || method === "HEAD";
}

function audited(handler: RouteOptions["handler"], deps: ControlDeps): RouteOptions["handler"] {
  return async function auditedHandler(this: FastifyInstance, request, reply) {
    if (isReading(request)) return handler.call(this, request, reply);
    request.audit = { id: await begun(deps.app, request), isFinished: false };
    try {
      const answer: unknown = await handler.call(this, request, reply);
      await finish(deps, request, reply);
      return answer;
    } catch (thrown) {
      await finish(deps, request, reply, problemOf(thrown, request.id).status);
      throw thrown;
    }
  };
}

/** Records the result once. The change is made: that the result cannot be written is no reason to fail it. */
async function finish(
  { app, logger }: ControlDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  status = reply.statusCode,
): Promise<void> {
  const { audit } = request;
  if (audit === undefined || audit.isFinished) return;
  audit.isFinished = true;
  await app.control.audit.finish(audit.id, { status, target: madeBy(reply) }).catch((thrown: unknown) => {
    logger.error({ requestId: request.id }, `the result of a change could not be recorded: ${messageOf(thrown)}`);
  });
}

/** @throws SimfleetError AUDIT_UNAVAILABLE */
async function begun(app: ControlDeps["app"], request: FastifyRequest): Promise<string> {
  try {
    return await app.control.audit.begin(intentOf(request));
  } catch (thrown) {
    if (thrown instanceof SimfleetError) throw thrown;
    throw new SimfleetError(
      "AUDIT_UNAVAILABLE",
      `The audit entry could not be written, so nothing was changed: ${messageOf(thrown)}`,
      { cause: thrown },
    );
  }
}

function intentOf({
  principal,
  params,
  query,
  method,
  routeOptions,
  id: requestId,
  ip: from,
}: FastifyRequest): AuditIntent {
  const named = Object.values((params ?? {}) as Readonly<Record<string, string>>)
    .join("/")
    .replace(ofSession, "");
  // Of the query these ids alone, and only where they have the form of one.
  const { planId, profile } = (query ?? {}) as Readonly<Record<string, unknown>>;
  const [about = ""] = [planId, profile].filter((id): id is string => typeof id === "string" && idForm.test(id));
  return {
    who: principal === undefined ? "" : actorOf(principal),
    role: principal?.role ?? "",
    action: `${method} ${routeOptions.url ?? ""}`,
    target: named === "" ? about : named.slice(0, 200),
    requestId,
    from,
  };
}

/** The id of what a request has made, as its `Location` has it. */
function madeBy(reply: FastifyReply): string | undefined {
  const made = reply.getHeader("location");
  return typeof made === "string" ? made.slice(made.lastIndexOf("/") + 1) : undefined;
}

class UnknownCallers {
  readonly #clock: Clock;
  #minute = 0;
  #noted = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  mayBeNoted(): boolean {
    const minute = Math.floor(this.#clock.monotonicMs() / minuteMs);
    if (minute !== this.#minute) [this.#minute, this.#noted] = [minute, 0];
    this.#noted += 1;
    return this.#noted <= mostUnknown;
  }
}
