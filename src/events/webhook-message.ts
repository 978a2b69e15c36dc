/** What a message says of an event: JSON for programs, or a notice for the people in a chat. */
import type { WebhookFormat } from "#fleet/webhook.ts";
import { type Told, noticeOf } from "./notice.ts";

export interface MessageContent {
  readonly body: string;
  readonly contentType: string;
}

const json = "application/json";

/** The content of a message about an event, the same in every try. */
export function contentOf(event: Told, format: WebhookFormat): MessageContent {
  switch (format) {
    case "standard": {
      const { type, atMs, profile, fields } = event;
      const data = { profile, ...fields };
      return { body: JSON.stringify({ type, timestamp: new Date(atMs).toISOString(), data }), contentType: json };
    }
    case "slack":
      return { body: JSON.stringify({ text: inMarkup(noticeOf(event)) }), contentType: json };
    case "teams":
      return { body: JSON.stringify(cardWith(noticeOf(event))), contentType: json };
    case "text":
      return { body: noticeOf(event), contentType: "text/plain; charset=utf-8" };
  }
}

/** The three characters that begin links and mentions there; a name may hold them. */
function inMarkup(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** What the Workflows of Teams take: an Adaptive Card. Its rich text, unlike its plain blocks, reads no markup. */
function cardWith(text: string): unknown {
  const content = {
    $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
    ...{ type: "AdaptiveCard", version: "1.4" },
    body: [{ type: "RichTextBlock", inlines: [{ type: "TextRun", text }] }],
  };
  const attachment = { contentType: "application/vnd.microsoft.card.adaptive", contentUrl: null, content };
  return { type: "message", attachments: [attachment] };
}
