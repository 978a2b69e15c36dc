/**
 * Sends one signed message to one address, once. It knows nothing of who sends what, nor of retries: it says as a value
 * what became of the message. No redirect is followed, no answer is kept, and one deadline holds for all of it.
 */
import { Agent } from "undici";
import type { Secret } from "#core/secret.ts";
import { type Clock, secondMs } from "#core/time.ts";
import { signaturesOf } from "./webhook-signature.ts";

export interface WebhookMessage {
  /** https, or http to this machine. */
  readonly url: string;
  /** The same in every try, so that a receiver can tell a repeat. */
  readonly id: string;
  /** JSON. */
  readonly body: string;
  /** The present one, and the one before while it is being changed. */
  readonly secrets: readonly Secret[];
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

const deadlineMs = 15_000;
const connectMs = 5_000;
/** A header beyond this is no wish but a mistake. */
const longestRetryAfterMs = 86_400_000;
/** Refusals that a wait may mend: too early, too many, timeouts. */
const passing: ReadonlySet<number> = new Set([408, 425, 429]);

export class WebhookSender {
  readonly #clock: Clock;
  readonly #userAgent: string;
  readonly #deadlineMs: number;
  readonly #agent = new Agent({ connect: { timeout: connectMs }, allowH2: false, pipelining: 1 });

  /** @param options `deadlineMs` is for one whole try; 15,000 by default */
  constructor(options: { clock: Clock; userAgent: string; deadlineMs?: number | undefined }) {
    this.#clock = options.clock;
    this.#userAgent = options.userAgent;
    this.#deadlineMs = options.deadlineMs ?? deadlineMs;
  }

  /**
   * Sends a message once.
   * @throws RangeError when the address or a secret is not one that may be used
   */
  async send(message: WebhookMessage): Promise<Delivery> {
    const url = addressOf(message.url);
    const timestampSeconds = Math.floor(this.#clock.wallMs() / secondMs);
    const headers = {
      "content-type": "application/json",
      "user-agent": this.#userAgent,
      "webhook-id": message.id,
      "webhook-timestamp": String(timestampSeconds),
      "webhook-signature": signaturesOf({ ...message, timestampSeconds }, message.secrets),
    };
    const late = new AbortController();
    const done = new AbortController();
    const timer = this.#clock.sleep(this.#deadlineMs, done.signal).then(
      () => late.abort(),
      () => undefined,
    );
    try {
      const {
        statusCode,
        headers: answered,
        body,
      } = await this.#agent.request({
        ...{ origin: url.origin, path: url.pathname + url.search, method: "POST", headers, body: message.body },
        signal: late.signal,
      });
      // The status is the answer; nothing of what a stranger writes comes any further.
      body.on("error", () => undefined).destroy();
      return deliveryOf(statusCode, answered["retry-after"]);
    } catch (thrown) {
      const why = late.signal.aborted ? `no answer within ${this.#deadlineMs / secondMs} s` : codeOf(thrown);
      return { kind: "unanswered", reason: `${url.host}: ${why}` };
    } finally {
      done.abort();
      await timer;
    }
  }

  async close(): Promise<void> {
    await this.#agent.close();
  }
}

/** @throws RangeError unless the address is https, or http to this machine, without a user name */
function addressOf(written: string): URL {
  const url = URL.parse(written);
  const isLoopback = url !== null && /^(localhost|\[::1\]|127(\.\d{1,3}){3})$/.test(url.hostname);
  const isAllowed = url?.protocol === "https:" || (url?.protocol === "http:" && isLoopback);
  if (url === null || !isAllowed || url.username !== "" || url.password !== "") {
    throw new RangeError("a webhook goes to https, or to http on this machine, without a user name in the address");
  }
  return url;
}

function deliveryOf(status: number, retryAfter: string | string[] | undefined): Delivery {
  if (status >= 200 && status < 300) return { kind: "accepted", status };
  const seconds = typeof retryAfter === "string" && /^\d{1,9}$/.test(retryAfter) ? Number(retryAfter) : undefined;
  return {
    ...{ kind: "refused", status },
    // A redirect is a refusal: the secret would go where nobody configured it to go.
    isFinal: status < 500 && !passing.has(status),
    retryAfterMs: seconds === undefined ? undefined : Math.min(seconds * secondMs, longestRetryAfterMs),
  };
}

/** The code alone: a parser's error carries a piece of the answer. */
function codeOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return "unknown error";
  return "code" in thrown && typeof thrown.code === "string" ? thrown.code : thrown.name;
}
