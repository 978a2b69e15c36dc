/** Formats of webhook messages: `standard` is a signed message of the Standard Webhooks specification; the others are for chats. */
export const webhookFormats = ["standard", "slack", "teams", "text"] as const;
export type WebhookFormat = (typeof webhookFormats)[number];
