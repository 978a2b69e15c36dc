/**
 * Signatures by the Standard Webhooks specification (github.com/standard-webhooks): HMAC-SHA256 over
 * `id.timestamp.body`, with the key that stands in base64 behind `whsec_`.
 */
import { createHmac } from "node:crypto";
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
  return secrets
    .map((secret) => {
      const key = webhookKey(secret.reveal());
      if (key === undefined) throw new RangeError("the secret of a webhook is whsec_ and base64");
      return `v1,${createHmac("sha256", key).update(`${id}.${timestampSeconds}.${body}`).digest("base64")}`;
    })
    .join(" ");
}
