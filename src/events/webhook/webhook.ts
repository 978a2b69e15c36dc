/**
 * Sends one signed message to one address, once, and returns the result as a value. It neither retries nor selects
 * messages. It follows no redirects, keeps no response body, and applies one deadline to the whole attempt. The
 * address is checked while the connection is made (webhook-address.ts).
 */
import type { LookupFunction } from "node:net";
import { promisify } from "node:util";
import type { buildConnector, Dispatcher } from "undici";
import { openDispatcher, type OutgoingProxy, proxyFault } from "#core/proxy.ts";
import type { Secret } from "#core/secrets/secret.ts";
import { type Clock, secondMs } from "#core/time.ts";
import { AddressRefused, guardedLookup, literalFault, type Reach } from "./webhook-address.ts";
import { signaturesOf } from "./webhook-signature.ts";

export interface WebhookMessage {
  /** https, or http to this machine. */
  readonly url: string;
  /** The same in every attempt, so that an endpoint can detect duplicates. */
  readonly id: string;
  readonly body: string;
  /** `application/json` by default. */
  readonly contentType?: string | undefined;
  /** The current secret, and the previous one during a change; none: the message is not signed. */
  readonly secrets: readonly Secret[];
  /** `public` by default. */
  readonly reach?: Reach | undefined;
  /** Deadline for the whole attempt; 15,000 by default. */
  readonly deadlineMs?: number | undefined;
}

export type Delivery =
  /** A 2xx status. */
  | { readonly kind: "accepted"; readonly status: number }
  /** Another status; `isFinal` if the same message would be rejected again. */
  | {
      readonly kind: "refused";
      readonly status: number;
      readonly isFinal: boolean;
      /** From the Retry-After header. */
      readonly retryAfterMs: number | undefined;
    }
  /** No response; the message may have arrived. */
  | { readonly kind: "unanswered"; readonly reason: string };

const usualDeadlineMs = 15_000;
const connectMs = 5_000;
/** A longer Retry-After is considered a mistake. */
const longestRetryAfterMs = 86_400_000;
/** Statuses that a retry may resolve: too early, too many requests, timeouts. */
const passing: ReadonlySet<number> = new Set([408, 425, 429]);

export type WebhookSender = ReturnType<typeof webhookSender>;

/** @param options `lookup` resolves host names; the system's lookup by default */
export function webhookSender({
  clock,
  userAgent,
  lookup,
  config: { proxy } = {},
}: {
  readonly config?: { readonly proxy?: OutgoingProxy | undefined };
  readonly clock: Clock;
  readonly userAgent: string;
  readonly lookup?: LookupFunction;
}) {
  /** Separate agents, so that no message reuses a connection that it would not be allowed to open. */
  const agents = new Map<Reach, Promise<Dispatcher>>();
  const openAgent = (reach: Reach): Promise<Dispatcher> => {
    const agent = agents.get(reach) ?? guardedAgent(reach, lookup, proxy);
    agents.set(reach, agent);
    return agent;
  };

  /** Sends a message once. @throws RangeError if a secret must not be used */
  const send = async (message: WebhookMessage): Promise<Delivery> => {
    const { id, secrets, contentType = "application/json", reach = "public", deadlineMs = usualDeadlineMs } = message;
    const url = new URL(message.url);
    const timestampSeconds = Math.floor(clock.wallMs() / secondMs);
    const headers = {
      "content-type": contentType,
      "user-agent": userAgent,
      "webhook-id": id,
      "webhook-timestamp": String(timestampSeconds),
      ...(secrets.length > 0 && { "webhook-signature": signaturesOf({ ...message, timestampSeconds }, secrets) }),
    };
    const agent = await openAgent(reach);
    const late = AbortSignal.timeout(Math.ceil(deadlineMs));
    try {
      if (proxy !== undefined) await assertReach(url.hostname, reach, lookup);
      const answer = await agent.request({
        origin: url.origin,
        path: url.pathname + url.search,
        method: "POST",
        headers,
        body: message.body,
        signal: late,
      });
      // Only the status is used; the body is discarded, since it is untrusted.
      answer.body.on("error", () => undefined).destroy();
      return toDelivery(answer.statusCode, retryAfterMs(answer.headers["retry-after"], clock.wallMs()));
    } catch (thrown) {
      const why = late.aborted ? `no response within ${deadlineMs / secondMs} s` : describeFailure(thrown, url.host);
      return { kind: "unanswered", reason: `${url.host}: ${why}` };
    }
  };

  const close = async (): Promise<void> => {
    await Promise.all([...agents.values()].map(async (agent) => (await agent).close()));
  };

  return { send, close };
}

/** Parses a Retry-After header, in seconds or as a date. */
function retryAfterMs(written: string | string[] | undefined, nowMs: number): number | undefined {
  if (typeof written !== "string") return undefined;
  const ms = /^\d{1,9}$/.test(written) ? Number(written) * secondMs : Date.parse(written) - nowMs;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), longestRetryAfterMs);
}

/**
 * An agent that connects only where `reach` allows it: a name's addresses are checked during the lookup, a literal
 * address directly. Loads undici: most commands send no message.
 */
export async function guardedAgent(
  reach: Reach,
  resolve: LookupFunction | undefined,
  proxy: OutgoingProxy | undefined,
): Promise<Dispatcher> {
  const undici = await import("undici");
  const lookup = guardedLookup(reach, resolve);
  const connectTo = undici.buildConnector({ timeout: connectMs, allowH2: false, lookup });
  const connect: buildConnector.connector = (options, callback) => {
    const fault = literalFault(options.hostname, reach);
    if (fault === undefined) connectTo(options, callback);
    else callback(new AddressRefused(fault), null);
  };
  return openDispatcher(undici, { connect, pipelining: 1, connectTimeoutMs: connectMs }, proxy);
}

/**
 * Checks a host that a proxy may connect to, and for which it asks its own name service: an address, or a name where
 * this machine knows its addresses.
 * @throws AddressRefused
 */
export async function assertReach(hostname: string, reach: Reach, resolve: LookupFunction | undefined): Promise<void> {
  const fault = literalFault(hostname, reach);
  if (fault !== undefined) throw new AddressRefused(fault);
  await promisify(guardedLookup(reach, resolve))(hostname, { all: true }).catch((thrown: unknown) => {
    if (thrown instanceof AddressRefused) throw thrown;
  });
}

function toDelivery(status: number, askedMs: number | undefined): Delivery {
  if (status >= 200 && status < 300) return { kind: "accepted", status };
  return { kind: "refused", status, isFinal: status < 500 && !passing.has(status), retryAfterMs: askedMs };
}

/** Only the error code: a parser's error contains a piece of the response. */
function describeFailure(thrown: unknown, host: string): string {
  if (!(thrown instanceof Error)) return "unknown error";
  const fault = proxyFault(thrown, host);
  if (fault !== undefined) return fault;
  if (thrown instanceof AddressRefused) return thrown.message;
  return "code" in thrown && typeof thrown.code === "string" ? thrown.code : thrown.name;
}
