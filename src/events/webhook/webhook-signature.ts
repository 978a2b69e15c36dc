/**
 * Signatures according to the Standard Webhooks specification (github.com/standard-webhooks): HMAC-SHA256 over
 * `id.timestamp.body`, with the base64 key that follows `whsec_`.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import type { Secret } from "#core/secrets/secret.ts";
import { webhookKey } from "#core/secrets/webhook-secret.ts";

export interface SignedParts {
  /** Unique id of the message, the same in every attempt. */
  readonly id: string;
  /** Time of this attempt, in whole seconds since the Unix epoch. */
  readonly timestampSeconds: number;
  /** The body exactly as sent. */
  readonly body: string;
}

/**
 * The `webhook-signature` header: one signature for each secret, so that an endpoint can change secrets without a gap.
 * @throws RangeError if a secret does not have the form `whsec_…`
 */
export function signaturesOf({ id, timestampSeconds, body }: SignedParts, secrets: readonly Secret[]): string {
  const signed = `${id}.${timestampSeconds}.${body}`;
  return secrets.map((secret) => `v1,${sign(signed, secret).toString("base64")}`).join(" ");
}

/** The headers of a received message; absent ones are undefined. */
export interface ReceivedParts {
  readonly id: string | undefined;
  readonly timestamp: string | undefined;
  /** Signatures, separated by spaces. */
  readonly signature: string | undefined;
  readonly body: string;
}

/** Maximum clock difference: an older or newer message may be a replay. */
const maxDriftSeconds = 300;

/**
 * Verifies the signature of a received message; returns the fault, or undefined if a secret has signed it recently.
 * @param nowMs wall clock
 */
export function signatureFault(
  { id, timestamp, signature, body }: ReceivedParts,
  secrets: readonly Secret[],
  nowMs: number,
): "unsigned" | "stale" | "forged" | undefined {
  if (id === undefined || signature === undefined || !/^\d{1,12}$/.test(timestamp ?? "")) return "unsigned";
  if (Math.abs(nowMs / 1_000 - Number(timestamp)) > maxDriftSeconds) return "stale";
  const given = signature
    .split(" ")
    .slice(0, 10)
    .flatMap((one) => (one.startsWith("v1,") ? [Buffer.from(one.slice("v1,".length), "base64")] : []));
  let isSigned = false;
  for (const secret of secrets) {
    const digest = sign(`${id}.${timestamp}.${body}`, secret);
    // Compare all, so that the timing reveals nothing.
    for (const one of given) isSigned = (one.length === digest.length && timingSafeEqual(one, digest)) || isSigned;
  }
  return isSigned ? undefined : "forged";
}

/** Whether two secrets contain the same key, in whatever form each is written. */
export function isSameKey(one: Secret, other: Secret): boolean {
  const [a, b] = [webhookKey(one.reveal()), webhookKey(other.reveal())];
  return a !== undefined && b !== undefined && a.length === b.length && timingSafeEqual(a, b);
}

function sign(signed: string, secret: Secret): Buffer {
  const key = webhookKey(secret.reveal());
  if (key === undefined) throw new RangeError("the secret of a webhook is whsec_ and base64");
  return createHmac("sha256", key).update(signed).digest();
}
