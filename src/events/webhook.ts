/**
 * Sends one signed message to one address, once. It knows nothing of who sends what, nor of retries: it says as a value
 * what became of the message. No redirect is followed, no answer is kept, one deadline holds for all of it, and where a
 * connection may lead is decided as it is made (webhook-address.ts).
 */
import type { LookupFunction } from "node:net";
import { Agent, buildConnector } from "undici";
import type { Secret } from "#core/secret.ts";
import { type Clock, secondMs } from "#core/time.ts";
import { AddressRefused, guardedLookup, isLoopbackName, literalFault, type Reach } from "./webhook-address.ts";
import { signaturesOf } from "./webhook-signature.ts";

export interface WebhookMessage {
  /** https, or http to this machine. */
  readonly url: string;
  /** The same in every try, so that a receiver can tell a repeat. */
  readonly id: string;
  readonly body: string;
  /** `application/json` by default. */
  readonly contentType?: string | undefined;
  /** The present one, and the one before while it is being changed; none: the message is not signed. */
  readonly secrets: readonly Secret[];
  /** `public` by default. */
  readonly reach?: Reach | undefined;
  /** For the whole try; 15,000 by default. */
  readonly deadlineMs?: number | undefined;
}

/** What became of a message. */
export type Delivery =
  /** A status of the 200s. */
  | { readonly kind: "accepted"; readonly status: number }
  /** Another status; `isFinal` where the same message would be refused again. */
  | {
      readonly kind: "refused";
      readonly status: number;
      readonly isFinal: boolean;
      /** What a Retry-After header asks for. */
      readonly retryAfterMs: number | undefined;
    }
  /** No answer: it may have arrived all the same. */
  | { readonly kind: "unanswered"; readonly reason: string };

const usualDeadlineMs = 15_000;
const connectMs = 5_000;
/** A header beyond this is no wish but a mistake. */
const longestRetryAfterMs = 86_400_000;
/** Refusals that a wait may mend: too early, too many, timeouts. */
const passing: ReadonlySet<number> = new Set([408, 425, 429]);

export class WebhookSender {
  readonly #clock: Clock;
  readonly #userAgent: string;
  /** Apart, so that no message goes through a connection that it might not have made. */
  readonly #agents: Readonly<Record<Reach, Agent>>;

  /** @param options `lookup` finds the addresses of names; the system's by default */
  constructor(options: { clock: Clock; userAgent: string; lookup?: LookupFunction }) {
    this.#clock = options.clock;
    this.#userAgent = options.userAgent;
    const { lookup } = options;
    this.#agents = { public: agentFor("public", lookup), anywhere: agentFor("anywhere", lookup) };
  }

  /**
   * Sends a message once.
   * @throws RangeError when the address or a secret is not one that may be used
   */
  async send(message: WebhookMessage): Promise<Delivery> {
    const { reach = "public", deadlineMs: withinMs = usualDeadlineMs } = message;
    const url = addressOf(message.url);
    const headers = this.#headersOf(message);
    const late = new AbortController();
    const done = new AbortController();
    const timer = this.#clock.sleep(withinMs, done.signal).then(
      () => late.abort(),
      () => undefined,
    );
    try {
      const {
        statusCode,
        headers: answered,
        body,
      } = await this.#agents[reach].request({
        ...{ origin: url.origin, path: url.pathname + url.search, method: "POST", headers, body: message.body },
        signal: late.signal,
      });
      // The status is the answer; nothing of what a stranger writes comes any further.
      body.on("error", () => undefined).destroy();
      return deliveryOf(statusCode, this.#retryAfterMs(answered["retry-after"]));
    } catch (thrown) {
      const why = late.signal.aborted ? `no answer within ${withinMs / secondMs} s` : codeOf(thrown);
      return { kind: "unanswered", reason: `${url.host}: ${why}` };
    } finally {
      done.abort();
      await timer;
    }
  }

  #headersOf(message: WebhookMessage): Record<string, string> {
    const { id, secrets, contentType = "application/json" } = message;
    const timestampSeconds = Math.floor(this.#clock.wallMs() / secondMs);
    return {
      "content-type": contentType,
      "user-agent": this.#userAgent,
      "webhook-id": id,
      "webhook-timestamp": String(timestampSeconds),
      ...(secrets.length > 0 && { "webhook-signature": signaturesOf({ ...message, timestampSeconds }, secrets) }),
    };
  }

  /** What a Retry-After header asks for, in seconds or as a date. */
  #retryAfterMs(written: string | string[] | undefined): number | undefined {
    if (typeof written !== "string") return undefined;
    const ms = /^\d{1,9}$/.test(written) ? Number(written) * secondMs : Date.parse(written) - this.#clock.wallMs();
    return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), longestRetryAfterMs);
  }

  async close(): Promise<void> {
    await Promise.all(Object.values(this.#agents).map((agent) => agent.close()));
  }
}

/** Connects where the reach allows it: a name's addresses are looked at as they are looked up, an address by itself. */
function agentFor(reach: Reach, resolve: LookupFunction | undefined): Agent {
  const lookup = guardedLookup(reach, resolve);
  const connectTo = buildConnector({ timeout: connectMs, allowH2: false, lookup });
  return new Agent({
    connect: (options, callback) => {
      const fault = literalFault(options.hostname, reach);
      if (fault === undefined) connectTo(options, callback);
      else callback(new AddressRefused(fault), null);
    },
    pipelining: 1,
  });
}

/** @throws RangeError unless the address is https, or http to this machine, without a user name */
function addressOf(written: string): URL {
  const url = URL.parse(written);
  const isAllowed = url?.protocol === "https:" || (url?.protocol === "http:" && isLoopbackName(url.hostname));
  if (url === null || !isAllowed || url.username !== "" || url.password !== "") {
    throw new RangeError("a webhook goes to https, or to http on this machine, without a user name in the address");
  }
  return url;
}

function deliveryOf(status: number, retryAfterMs: number | undefined): Delivery {
  if (status >= 200 && status < 300) return { kind: "accepted", status };
  return {
    ...{ kind: "refused", status },
    // A redirect is a refusal: the secret would go where nobody configured it to go.
    isFinal: status < 500 && !passing.has(status),
    retryAfterMs,
  };
}

/** The code alone: a parser's error carries a piece of the answer. */
function codeOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return "unknown error";
  if (thrown instanceof AddressRefused) return thrown.message;
  return "code" in thrown && typeof thrown.code === "string" ? thrown.code : thrown.name;
}
