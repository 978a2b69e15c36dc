/**
 * Browser sessions for the queue dashboard. An admin's token creates a session that is valid for that page only, for 15
 * minutes and no longer than the token. A session has two secrets: a cookie, and a random path segment to which the
 * cookie is limited. Browsers send cookies to every port of a host; other servers on the host do not know the path, so
 * they never receive this one. A request without both secrets is refused. Since browsers attach cookies automatically,
 * a request that changes something must also come from our own page.
 */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { FastifyRequest } from "fastify";
import { SimfleetError } from "#core/errors.ts";
import { type Clock, minuteMs } from "#core/time.ts";
import type { Access } from "../auth/access.ts";
import type { Principal } from "../auth/principal.ts";

export const queuesPath = "/queues";
const cookieName = "simfleet_queues";
const livesMs = 15 * minuteMs;
const mostSessions = 100;

/** A segment of a path that can be one of a session's. */
const ofSession = new RegExp(`^${queuesPath}/([\\w-]{43})(?=[/?]|$)`);

type Asking = Pick<FastifyRequest, "url" | "method" | "headers">;

interface Session {
  /** With which it was begun. */
  readonly authorization: string | undefined;
  readonly cookieDigest: Buffer;
  readonly untilMs: number;
}

/** An address under the page's path, without the segment of a session. */
export function withoutSession(url: string): { url: string; basePath: string } {
  const [whole = "", segment] = ofSession.exec(url) ?? [];
  if (segment === undefined) return { url, basePath: queuesPath };
  return { url: `${queuesPath}${url.slice(whole.length)}`, basePath: whole };
}

export class QueueSessions {
  readonly #clock: Clock;
  readonly #isPlain: boolean;
  readonly #access: Pick<Access, "principalOf">;
  /** By the digest of their segment. */
  readonly #sessions = new Map<string, Session>();

  /** @param parts `isPlain`: only this machine can reach the server, which then need not be under TLS */
  constructor(deps: { clock: Clock; isPlain: boolean; access: Pick<Access, "principalOf"> }) {
    this.#clock = deps.clock;
    this.#isPlain = deps.isPlain;
    this.#access = deps.access;
  }

  /**
   * Begins a session.
   * @param authorization of the request, which has to hold for as long as the session does
   */
  open(authorization: string | undefined): { cookie: string; path: string } {
    this.#sweep();
    const [segment, secret] = [randomBytes(32).toString("base64url"), randomBytes(32).toString("base64url")];
    const cookieDigest = digestOf(secret);
    const untilMs = this.#clock.monotonicMs() + livesMs;
    this.#sessions.set(keyOf(segment), { authorization, cookieDigest, untilMs });
    const path = `${queuesPath}/${segment}`;
    const secure = this.#isPlain ? "" : "; Secure";
    const cookie = `${cookieName}=${secret}; Path=${path}; Max-Age=${livesMs / 1_000}; HttpOnly; SameSite=Strict${secure}`;
    return { cookie, path };
  }

  /**
   * The admin whom the path and the cookie of a request name.
   * @throws SimfleetError FORBIDDEN if it would change something and does not come from our own page;
   *   UNAUTHENTICATED if the token of the session is no longer valid
   */
  async principalOf(request: Asking): Promise<Principal | undefined> {
    const [, segment] = ofSession.exec(request.url) ?? [];
    const [, secret] =
      new RegExp(`(?:^|; *)${cookieName}=([\\w-]{43})(?:;|$)`).exec(request.headers.cookie ?? "") ?? [];
    if (segment === undefined || secret === undefined) return undefined;
    const session = this.#sessions.get(keyOf(segment));
    if (session === undefined || session.untilMs <= this.#clock.monotonicMs()) return undefined;
    if (!timingSafeEqual(session.cookieDigest, digestOf(secret))) return undefined;
    const isReading = request.method === "GET" || request.method === "HEAD";
    if (!isReading && URL.parse(request.headers.origin ?? "")?.host !== request.headers.host) {
      throw new SimfleetError("FORBIDDEN", "This request does not come from the queue dashboard");
    }
    return this.#access.principalOf(session.authorization);
  }

  /** Lets go of those that are over, and of the oldest where there are too many. */
  #sweep(): void {
    for (const [key, { untilMs }] of this.#sessions) {
      if (untilMs <= this.#clock.monotonicMs() || this.#sessions.size >= mostSessions) this.#sessions.delete(key);
    }
  }
}

function digestOf(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}

function keyOf(segment: string): string {
  return digestOf(segment).toString("hex");
}
