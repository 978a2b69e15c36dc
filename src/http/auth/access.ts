/**
 * Identifies a caller by a bearer token: one of the configuration or one in Redis, both known by their SHA-256 only, or
 * a JWT of an identity provider (jwt.ts). Every token is compared with every hash of the configuration in constant
 * time, so that the response time reveals nothing.
 */
import { hash, timingSafeEqual } from "node:crypto";
import type { TokenOptions } from "#config/sections/http.ts";
import { SimfleetError } from "#core/errors.ts";
import { type Clock, minuteMs } from "#core/time.ts";
import type { FastifyInstance, FastifyRequest, RouteOptions } from "fastify";
import { type Role, isAtLeast } from "#fleet/role.ts";
import type { ConnectionLimits } from "../connection-limits.ts";
import { sendProblem } from "../problem.ts";
import { isLoopback } from "#core/loopback.ts";

/** The owner of a token. `expiresAtMs`: absent if the token does not expire. */
interface Bearer {
  readonly name: string;
  readonly role: Role;
  readonly expiresAtMs?: number | undefined;
}

/** A caller; its credential ends at `expiresAtMs`, or not. */
export interface Principal extends Bearer {
  /** `trigger`: the sender of a signed message, whose name is the schedule's. */
  readonly kind: "token" | "jwt" | "admin-token" | "trigger";
}

/** The actor as runs, events and the audit log name it: `token:ci`, `jwt:anna`. */
export function actorOf(principal: Principal | undefined): string {
  return principal === undefined ? "nobody" : `${principal.kind}:${principal.name}`;
}

interface AccessOptions {
  readonly tokens: readonly TokenOptions[];
  /** In clear: it comes from a secret of the configuration or of the data directory. */
  readonly adminToken: string | undefined;
  readonly stored?: { bearerOf(sha256: string): Promise<Bearer | undefined>; noteUse(name: string): void };
  readonly jwt: { principalOf(token: string): Promise<Principal> } | undefined;
  readonly clock: Clock;
}

export type Access = ReturnType<typeof openAccess>;

export function openAccess({ tokens, adminToken, stored, jwt, clock }: AccessOptions) {
  const configured: (Principal & { readonly sha256: Buffer })[] = tokens.map(({ sha256, ...token }) => {
    return { ...token, kind: "token", sha256: Buffer.from(sha256, "hex") };
  });
  if (adminToken !== undefined) {
    configured.push({
      name: "admin",
      role: "admin",
      kind: "admin-token",
      sha256: hash("sha256", adminToken, "buffer"),
    });
  }

  /** Looks up stored tokens. Tokens of the configuration need no Redis. */
  const findBearer = async (token: string): Promise<Principal | undefined> => {
    const digest = hash("sha256", token, "buffer");
    let bearer: Principal | undefined;
    for (const { sha256, ...known } of configured) {
      if (timingSafeEqual(digest, sha256)) bearer = known;
    }
    if (bearer === undefined && storedForm.test(token)) {
      const found = await stored?.bearerOf(digest.toString("hex"));
      if (found !== undefined) bearer = { ...found, kind: "token" };
    }
    return (bearer?.expiresAtMs ?? Infinity) <= clock.wallMs() ? undefined : bearer;
  };

  /**
   * Returns the caller that an `Authorization` header identifies.
   * @throws SimfleetError UNAUTHENTICATED; FORBIDDEN for a JWT without a known role
   */
  const principalOf = async (authorization: string | undefined): Promise<Principal> => {
    const [, token] = /^Bearer +([A-Za-z0-9._~+/=-]{1,8192})$/i.exec(authorization ?? "") ?? [];
    if (token === undefined) {
      throw new SimfleetError("UNAUTHENTICATED", "A token is required: send the header Authorization: Bearer TOKEN");
    }
    const known = await findBearer(token);
    if (known?.kind === "token") stored?.noteUse(known.name);
    if (known !== undefined) return known;
    if (jwt !== undefined && token.split(".").length === 3) return jwt.principalOf(token);
    throw new SimfleetError("UNAUTHENTICATED", "Invalid or expired token");
  };

  return { principalOf };
}

/** Form of the tokens that `tokens create` makes. Nothing else is looked up. */
const storedForm = /^sf_[A-Za-z0-9_-]{43}$/;

// Checks every request before its route runs: the `Host` header is ours, the caller is known, and the caller's role
// allows the route. A route that declares no role keeps the server from starting.

interface Parts {
  readonly access: Access;
  readonly authFailures: AuthFailures;
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

/** @throws SimfleetError FORBIDDEN, UNAUTHENTICATED, TOO_MANY_REQUESTS */
async function admit(request: FastifyRequest, { access, authFailures, limits, isOurHost }: Parts): Promise<void> {
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
  const { authorization } = request.headers;
  const principal = await access.principalOf(authorization).catch((thrown: unknown) => {
    throw authFailures.refusal(thrown, { ip: request.ip, authorization });
  });
  request.principal = principal;
  limits.markKnown(request.raw.socket);
  if (!isAtLeast(principal.role, role)) {
    throw new SimfleetError(
      "FORBIDDEN",
      `This request needs the role ${role}; ${principal.name} has the role ${principal.role}`,
    );
  }
}

// Checks the `Host` header of requests. With DNS rebinding, a foreign web page can make its own host name resolve to
// this machine and call a worker on a loopback address. The header then contains the foreign name, and the request is
// rejected.

/**
 * @param listening `hosts` are those that the configuration adds
 * @returns whether a `Host` header is accepted
 */
export function hostCheck({ host, port, hosts }: { host: string; port: () => number; hosts: readonly string[] }) {
  const listed = new Set(hosts.map((name) => name.toLowerCase()));
  const takesAll = !isLoopback(host) && listed.size === 0;
  return (header: string | undefined): boolean => {
    if (takesAll) return true;
    if (header === undefined) return false;
    const name = header.toLowerCase();
    if (listed.has(name)) return true;
    const url = URL.parse(`http://${name}`);
    if (url === null || url.pathname !== "/" || url.username !== "") return false;
    return isLoopback(url.hostname) && (url.port || "80") === String(port());
  };
}

// Counts invalid credentials by address: wrong tokens and forged signatures. After too many within a minute, the
// address gets 429 for further invalid ones. A valid credential is always accepted: behind a proxy many clients share
// an address, and none may lock out the others. This limits load and log noise, not guessing: our tokens have 256 bits,
// and an operator's own admin token has at least 32 characters.

/** Addresses counted separately per minute; all others share one counter. */
const maxAddresses = 10_000;

/** @returns counts an occurrence of a key in the present minute */
export function countPerMinute(clock: Clock) {
  const counts = new Map<string, number>();
  let minute = 0;
  return (wanted: string) => {
    const nowMs = clock.monotonicMs();
    const now = Math.floor(nowMs / minuteMs);
    if (now !== minute) counts.clear();
    minute = now;
    const key = counts.has(wanted) || counts.size < maxAddresses ? wanted : "others";
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    return { count, leftMs: (minute + 1) * minuteMs - nowMs };
  };
}

export type AuthFailures = ReturnType<typeof openAuthFailures>;

export function openAuthFailures({ clock, maxPerMinute }: { clock: Clock; maxPerMinute: number }) {
  const counted = countPerMinute(clock);
  /** Counts a failure. @returns the caller's error: the refusal, or TOO_MANY_REQUESTS once the limit is reached */
  const count = (ip: string, refusal: SimfleetError): SimfleetError => {
    const { count: failures, leftMs } = counted(toNetwork(ip));
    if (failures <= maxPerMinute) return refusal;
    const message = `Too many requests with invalid credentials from ${ip}: retry in a minute`;
    return new SimfleetError("TOO_MANY_REQUESTS", message, { retryAfterMs: leftMs });
  };
  return {
    count,
    /** Counts what the check of a credential threw; a request without one is not a guess. */
    refusal(thrown: unknown, { ip, authorization }: { ip: string; authorization: string | undefined }): unknown {
      const isGuess =
        thrown instanceof SimfleetError && thrown.code === "UNAUTHENTICATED" && authorization !== undefined;
      return isGuess ? count(ip, thrown) : thrown;
    },
  };
}

/** The address; of IPv6 the /64, which one client has as a whole. */
function toNetwork(ip: string): string {
  if (!ip.includes(":") || ip.includes(".")) return ip;
  const [head = "", tail] = ip.split("::", 2);
  const first = head === "" ? [] : head.split(":");
  const last = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - first.length - last.length);
  return [...first, ...Array.from({ length: zeros }, () => "0"), ...last].slice(0, 4).join(":");
}
