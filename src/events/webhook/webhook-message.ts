/**
 * Builds the content of a webhook message: JSON for programs, or a notice for a chat: what happened, to what, and what
 * to do. Events that no feature declares are rendered as their name and fields.
 */
import { visible } from "#core/visible-text.ts";
import type { WebhookFormat } from "#fleet/webhook.ts";
import { type Event, factsOfEvent } from "../event.ts";
import { partsOfSentence, textOfSentence } from "../sentence.ts";

/** An event, or something similar that is not in the stream, such as a test. */
export type NoticeEvent = Pick<Event, "profile" | "atMs" | "fields"> & { readonly type: string };

const json = "application/json";

/** The content of a message about an event, the same in every attempt. */
export function contentOf(event: NoticeEvent, format: WebhookFormat): { body: string; contentType: string } {
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
 * A notice without active mentions or links: a name may contain `@channel`, `[x](http://…)` or an address, and chats
 * that share a format interpret different markup. A zero-width space deactivates each of them and is invisible to
 * readers. Control characters are shown as escapes.
 */
function chatText(event: NoticeEvent): string {
  return visible(noticeOf(event)).replace(liveMarkup, `$&${zeroWidthSpace}`);
}

/** Each match ends inside a mention, an address with a scheme, `www.`, or a Markdown link. */
const liveMarkup =
  /[@＠](?=[\p{L}\p{N}_.-])|:(?=\/\/)|\b(?:mailto|tel|sms|callto|javascript|data|slack|msteams|mattermost):|\bwww(?=\.)|\](?=[([:])|~(?=[a-z0-9])/giu;

/** Escapes the three characters that start links and mentions there; a name may contain them. */
function inMarkup(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** The format of Teams Workflows: an Adaptive Card. Its rich text, unlike its plain blocks, interprets no markup. */
function cardWith(text: string): unknown {
  const content = {
    $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
    type: "AdaptiveCard",
    version: "1.4",
    body: [{ type: "RichTextBlock", inlines: [{ type: "TextRun", text }] }],
  };
  const attachment = { contentType: "application/vnd.microsoft.card.adaptive", contentUrl: null, content };
  return { type: "message", attachments: [attachment] };
}

/** One line, or a few, without any markup. */
export function noticeOf(event: NoticeEvent): string {
  const text = event.type === "webhook.test" ? "This is a test message from simfleet." : describeEvent(event);
  return event.profile === "default" || event.profile === "" ? text : `[${event.profile}] ${text}`;
}

function describeEvent(event: NoticeEvent): string {
  const facts = factsOfEvent(event.type);
  if (facts === undefined) return generic(event);
  const rendered = (template: string): string => textOfSentence(partsOfSentence(template, event.fields));
  const sentence = rendered(facts.sentence).replace(/\.$/, "");
  return facts.advice === undefined ? `${sentence}.` : `${sentence}. ${rendered(facts.advice)}`;
}

function generic({ type, fields }: NoticeEvent): string {
  const reported = Object.entries(fields).filter(([, text]) => text !== "");
  return [type, reported.map(([name, text]) => `${name} ${text}`).join(", ")].filter((part) => part !== "").join(": ");
}
