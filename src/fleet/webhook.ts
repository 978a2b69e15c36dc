/** A webhook: who is told of which events, and how the message is written. Its address and secrets are no part of it. */

/** `standard` is a signed message by the Standard Webhooks specification; the others are notices for people in a chat. */
export const webhookFormats = ["standard", "slack", "teams", "text"] as const;
export type WebhookFormat = (typeof webhookFormats)[number];

export interface Webhook {
  readonly name: string;
  /** Patterns of event types: `run.completed`, `run.*`, `*`. */
  readonly events: readonly string[];
  /** Absent: events of every profile. */
  readonly profile: string | undefined;
  readonly format: WebhookFormat;
  /** Whether its address may lead into a private network. */
  readonly allowPrivate: boolean;
  /** For one try. */
  readonly timeoutMs: number;
}
