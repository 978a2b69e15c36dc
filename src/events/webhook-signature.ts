/**
 * Signatures by the Standard Webhooks specification (github.com/standard-webhooks): HMAC-SHA256 over
 * `id.timestamp.body`, with the key that stands in base64 behind `whsec_`.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import type { Secret } from "#core/secret.ts";
import { webhookKey } from "#core/webhook-secret.ts";

/** What one message is signed for. */
export interface SignedParts {
  /** Names the message for good: the same in every try. */
  readonly id: string;
  /** Of this try, in whole seconds since the Unix epoch. */
  readonly timestampSeconds: number;
  /** Byte for byte as it is sent. */
  readonly body: string;
}

/**
 * The `webhook-signature` header: one signature for each secret, so that a receiver can change over from one to the next.
 * @throws RangeError when a secret is no `whsec_…`
 */
export function signaturesOf({ id, timestampSeconds, body }: SignedParts, secrets: readonly Secret[]): string {
  const signed = `${id}.${timestampSeconds}.${body}`;
  return secrets.map((secret) => `v1,${digestOf(signed, secret).toString("base64")}`).join(" ");
}

/** The headers of a message that came in, as they came; absent ones are undefined. */
export interface ReceivedParts {
  readonly id: string | undefined;
  readonly timestamp: string | undefined;
  /** Signatures with spaces between. */
  readonly signature: string | undefined;
  readonly body: string;
}

/** A message outside of this tolerance may be a replay. */
const mostDriftSeconds = 300;

/**
 * What is wrong with the signature of a message that came in; undefined where one of the secrets has signed it just now.
 * @param nowMs wall clock
 */
export function signatureFault(
  { id, timestamp, signature, body }: ReceivedParts,
  secrets: readonly Secret[],
  nowMs: number,
): "unsigned" | "stale" | "forged" | undefined {
  if (id === undefined || signature === undefined || !/^\d{1,12}$/.test(timestamp ?? "")) return "unsigned";
  if (Math.abs(nowMs / 1_000 - Number(timestamp)) > mostDriftSeconds) return "stale";
  const given = signature
    .split(" ")
    .slice(0, 10)
    .flatMap((one) => (one.startsWith("v1,") ? [Buffer.from(one.slice("v1,".length), "base64")] : []));
  let isSigned = false;
  for (const secret of secrets) {
    const digest = digestOf(`${id}.${timestamp}.${body}`, secret);
    // All are compared, so that the time it takes says nothing.
    for (const one of given) isSigned = (one.length === digest.length && timingSafeEqual(one, digest)) || isSigned;
  }
  return isSigned ? undefined : "forged";
}

/** Whether two secrets sign alike, in whatever form each is written. */
export function isSameKey(one: Secret, other: Secret): boolean {
  const [a, b] = [webhookKey(one.reveal()), webhookKey(other.reveal())];
  return a !== undefined && b !== undefined && a.length === b.length && timingSafeEqual(a, b);
}

function digestOf(signed: string, secret: Secret): Buffer {
  const key = webhookKey(secret.reveal());
  if (key === undefined) throw new RangeError("the secret of a webhook is whsec_ and base64");
  return createHmac("sha256", key).update(signed).digest();
}
