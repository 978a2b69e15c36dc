/**
 * Writes an audit entry for every request that changes something or was rejected such a change: who, what, on which
 * target, and the result. It never stores a body or a header, and of a query only ids. The entry is written before the
 * handler runs and the result after, so every change has an entry even if the client disconnects. If it cannot be
 * written, the change is rejected. Rejections of unknown callers are limited per minute, so they cannot fill the log.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from "fastify";
import { messageOf } from "#core/errors.ts";
import type { ControlDeps } from "./deps.ts";
import { actorOf, countPerMinute } from "./auth/access.ts";

const idForm = /^[\w-]{1,64}$/;
/** Rejections of unknown callers that are recorded per minute. */
const maxUnknown = 60;

/** Must be called before the routes are registered, since it adds to their hooks. */
export function addAudit(server: FastifyInstance, { audit, clock, logger }: ControlDeps): void {
  const countUnknown = countPerMinute(clock);
  server.decorateRequest("audit", undefined);
  const begin = async (request: FastifyRequest): Promise<void> => {
    if (!isReading(request)) request.audit = { id: await audit.begin(toIntent(request)) };
  };
  server.addHook("onRoute", (route) => {
    // The last one before the handler: the route's own may say who calls.
    if (isAudited(route)) route.preHandler = [...[route.preHandler ?? []].flat(), begin];
  });
  server.addHook("onSend", async (request, reply) => {
    const { config, url } = request.routeOptions;
    if (isReading(request) || url === undefined || !isAudited({ config, url })) return undefined;
    const { statusCode: status } = reply;
    // A client that has the response finds the result. The change is made: a failure here does not fail the request.
    if (request.audit !== undefined) {
      const { id, about } = request.audit;
      return audit.finish(id, { status, target: madeBy(reply), about }).catch((thrown: unknown) => {
        logger.error({ requestId: request.id }, `the result of a change could not be recorded: ${messageOf(thrown)}`);
      });
    }
    // Without an entry, the request was rejected before its handler: by the guard, a limit or a schema.
    if (request.principal === undefined && countUnknown("").count > maxUnknown) return undefined;
    audit.note(toIntent(request), { status }).catch((thrown: unknown) => {
      logger.error({ requestId: request.id }, `a refusal could not be written down: ${messageOf(thrown)}`);
    });
    return undefined;
  });
}

/** Public files and pages change nothing. */
function isAudited({ config, url }: Pick<RouteOptions, "config" | "url">): boolean {
  return config?.role !== "open" || url.startsWith("/v1/");
}

function isReading({ method }: FastifyRequest): boolean {
  return method === "GET" || method === "HEAD";
}

function toIntent(request: FastifyRequest): Parameters<ControlDeps["audit"]["begin"]>[0] {
  const { principal, params, query, method, routeOptions } = request;
  const named = Object.values((params ?? {}) as Readonly<Record<string, string>>).join("/");
  // Of the query, only these ids, and only if they are well-formed.
  const { planId, profile } = (query ?? {}) as Readonly<Record<string, unknown>>;
  const [about = ""] = [planId, profile].filter((id): id is string => typeof id === "string" && idForm.test(id));
  return {
    who: principal === undefined ? "" : actorOf(principal),
    role: principal?.role ?? "",
    kind: routeOptions.config.auditKind ?? "other",
    action: `${method} ${routeOptions.url ?? ""}`,
    did: routeOptions.config.did ?? "",
    target: named === "" ? about : named.slice(0, 200),
    requestId: request.id,
    from: request.ip,
  };
}

/** The id of the created object, from the `Location` header. */
function madeBy(reply: FastifyReply): string | undefined {
  const made = reply.getHeader("location");
  return typeof made === "string" ? made.slice(made.lastIndexOf("/") + 1) : undefined;
}
