/** What a message says of an event: JSON for programs, or a notice for the people in a chat. */
import { visible } from "#core/visible-text.ts";
import type { WebhookFormat } from "#fleet/webhook.ts";
import { type NoticeEvent, noticeOf } from "./notice.ts";

export interface MessageContent {
  readonly body: string;
  readonly contentType: string;
}

const json = "application/json";

/** The content of a message about an event, the same in every try. */
export function contentOf(event: NoticeEvent, format: WebhookFormat): MessageContent {
  switch (format) {
    case "standard": {
      const { type, atMs, profile, fields } = event;
      const data = { profile, ...fields };
      return { body: JSON.stringify({ type, timestamp: new Date(atMs).toISOString(), data }), contentType: json };
    }
    case "slack":
      return { body: JSON.stringify({ text: inMarkup(chatText(event)) }), contentType: json };
    case "teams":
      return { body: JSON.stringify(cardWith(chatText(event))), contentType: json };
    case "text":
      return { body: visible(noticeOf(event)), contentType: "text/plain; charset=utf-8" };
  }
}

const zeroWidthSpace = "\u200B";

/**
 * A notice in which nothing that is called after a mention or a link is one: a name may hold `@channel`, `[x](http://…)` or
 * an address, and chats that share a format read different markup. A zero-width space breaks each of them for a program;
 * people see no difference. Control characters are shown as escapes.
 */
function chatText(event: NoticeEvent): string {
  return visible(noticeOf(event)).replace(liveMarkup, `$&${zeroWidthSpace}`);
}

/** Each match ends where a mention, an address with a scheme, `www.`, or a Markdown link goes on. */
const liveMarkup =
  /[@＠](?=[\p{L}\p{N}_.-])|:(?=\/\/)|\b(?:mailto|tel|sms|callto|javascript|data|slack|msteams|mattermost):|\bwww(?=\.)|\](?=[([:])|~(?=[a-z0-9])/giu;

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
