/**
 * Checks every request before its route runs: the `Host` header is ours, the caller is known, and the caller's role
 * allows the route. A route that declares no role keeps the server from starting.
 */
import type { FastifyInstance, FastifyRequest, RouteOptions } from "fastify";
import { SimfleetError } from "#core/errors.ts";
import { isAtLeast } from "#fleet/role.ts";
import type { Access } from "./access.ts";
import type { AuthFailures } from "./auth-failures.ts";
import type { ConnectionLimits } from "../connection-limits.ts";
import type { Principal } from "./principal.ts";
import { sendProblem } from "../problem.ts";

interface Parts {
  readonly access?: Access;
  readonly authFailures?: AuthFailures;
  readonly limits: ConnectionLimits;
  readonly isOurHost: (header: string | undefined) => boolean;
}

export function addGuard(server: FastifyInstance, deps: Parts): void {
  const routes: RouteOptions[] = [];
  server.decorateRequest("principal", undefined);
  server.addHook("onRoute", (route) => {
    routes.push(route);
  });
  server.addHook("onReady", (done) => {
    const silent = routes.find(({ config }) => config?.role === undefined);
    done(silent === undefined ? undefined : new Error(`${silent.method.toString()} ${silent.url} declares no role`));
  });
  server.addHook("onRequest", async (request, reply) => {
    try {
      await admit(request, deps);
    } catch (thrown) {
      // Its connection may be one too many.
      if (thrown instanceof SimfleetError && thrown.code === "OVERLOADED") reply.header("connection", "close");
      // Answered here, since plugins have their own error handlers.
      return sendProblem(thrown, request, reply);
    }
    return undefined;
  });
}

/** @throws SimfleetError FORBIDDEN, UNAUTHENTICATED */
async function admit(request: FastifyRequest, deps: Parts): Promise<void> {
  const { limits, isOurHost } = deps;
  const { config, url = "" } = request.routeOptions;
  const { role = "open" } = config;
  // Process supervisors use any host name, and learn only whether the worker is healthy.
  if (!/^\/(?:healthz|readyz)$/.test(url) && !isOurHost(request.headers.host)) {
    throw new SimfleetError(
      "FORBIDDEN",
      "This host name is not allowed: add it to http.hosts, or use the worker's address",
    );
  }
  if (role === "open") return;
  const principal = await principalOf(request, deps);
  request.principal = principal;
  limits.markKnown(request.raw.socket);
  if (!isAtLeast(principal.role, role)) {
    throw new SimfleetError(
      "FORBIDDEN",
      `This request needs the role ${role}; ${principal.name} has the role ${principal.role}`,
    );
  }
}

/** @throws SimfleetError UNAUTHENTICATED, TOO_MANY_REQUESTS */
async function principalOf(request: FastifyRequest, { access, authFailures }: Parts): Promise<Principal> {
  const { authorization } = request.headers;
  try {
    const principal = await access?.principalOf(authorization);
    if (principal !== undefined) return principal;
  } catch (thrown) {
    throw authFailures?.refusal(thrown, { ip: request.ip, authorization }) ?? thrown;
  }
  throw new SimfleetError("UNAUTHENTICATED", "This request needs a bearer token");
}
