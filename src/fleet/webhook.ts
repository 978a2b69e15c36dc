/** Formats of webhook messages: `standard` is signed by the Standard Webhooks specification; others are for chats. */
export const webhookFormats = ["standard", "slack", "teams", "text"] as const;
export type WebhookFormat = (typeof webhookFormats)[number];
