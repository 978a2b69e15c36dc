/**
 * How a browser gets to the page of the queues: an admin's token fetches a cookie that is good for that page alone and
 * for a quarter of an hour, so that the token is never in an address. A cookie goes along by itself; so what changes
 * something has to come from a page of ours as well.
 */
import { createHash, randomBytes } from "node:crypto";
import type { FastifyRequest } from "fastify";
import { SimfleetError } from "#core/errors.ts";
import { type Clock, minuteMs } from "#core/time.ts";
import type { Principal } from "./principal.ts";

export const queuesPath = "/queues";
const cookieName = "simfleet_queues";
const livesMs = 15 * minuteMs;
const mostSessions = 100;

type Asking = Pick<FastifyRequest, "url" | "method" | "headers">;

export class QueueSessions {
  readonly #clock: Clock;
  readonly #isPlain: boolean;
  readonly #sessions = new Map<string, { readonly principal: Principal; readonly untilMs: number }>();

  /** @param parts `isPlain`: only this machine can reach the server, which then need not be under TLS */
  constructor(parts: { clock: Clock; isPlain: boolean }) {
    this.#clock = parts.clock;
    this.#isPlain = parts.isPlain;
  }

  /** Begins a session. @returns the cookie to set */
  open(principal: Principal): string {
    this.#sweep();
    const secret = randomBytes(32).toString("base64url");
    this.#sessions.set(digestOf(secret), { principal, untilMs: this.#clock.monotonicMs() + livesMs });
    const secure = this.#isPlain ? "" : "; Secure";
    return `${cookieName}=${secret}; Path=${queuesPath}; Max-Age=${livesMs / 1_000}; HttpOnly; SameSite=Strict${secure}`;
  }

  /**
   * The admin whom a request's cookie names, on that page alone.
   * @throws SimfleetError NOT_ALLOWED when it would change something and does not come from a page of ours
   */
  principalOf(request: Asking): Principal | undefined {
    if (!new RegExp(`^${queuesPath}(?:[/?]|$)`).test(request.url)) return undefined;
    const [, secret] =
      new RegExp(`(?:^|; *)${cookieName}=([\\w-]{43})(?:;|$)`).exec(request.headers.cookie ?? "") ?? [];
    const session = secret === undefined ? undefined : this.#sessions.get(digestOf(secret));
    if (session === undefined || session.untilMs <= this.#clock.monotonicMs()) return undefined;
    const isReading = request.method === "GET" || request.method === "HEAD";
    if (!isReading && URL.parse(request.headers.origin ?? "")?.host !== request.headers.host) {
      throw new SimfleetError("NOT_ALLOWED", "This request does not come from the page of the queues");
    }
    return session.principal;
  }

  /** Lets go of those that are over, and of the oldest where there are too many. */
  #sweep(): void {
    for (const [digest, { untilMs }] of this.#sessions) {
      if (untilMs <= this.#clock.monotonicMs() || this.#sessions.size >= mostSessions) this.#sessions.delete(digest);
    }
  }
}

function digestOf(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}
