/** A webhook: which events it receives, and in which format. Its address and secrets are stored separately. */

/** `standard` is a signed message of the Standard Webhooks specification; the others are chat notifications. */
export const webhookFormats = ["standard", "slack", "teams", "text"] as const;
export type WebhookFormat = (typeof webhookFormats)[number];

export interface Webhook {
  readonly name: string;
  /** Patterns of event types: `run.completed`, `run.*`, `*`. */
  readonly events: readonly string[];
  /** Profile whose events are sent. Absent: every profile. */
  readonly profile: string | undefined;
  readonly format: WebhookFormat;
  /** Whether its address may be in a private network. */
  readonly allowPrivate: boolean;
  /** Per attempt. */
  readonly timeoutMs: number;
}
