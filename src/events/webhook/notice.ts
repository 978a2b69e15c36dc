/**
 * Renders events as text for a chat: what happened, to what, and what to do. Events that no feature declares are rendered as
 * their name and fields.
 */
import { type Event, factsOfEvent } from "../event.ts";
import { partsOfSentence, textOfSentence } from "../sentence.ts";

/** An event, or something similar that is not in the stream, such as a test. */
export type NoticeEvent = Pick<Event, "profile" | "atMs" | "fields"> & { readonly type: string };

/** The type of the message that `simfleet webhooks test` sends. */
const testType = "webhook.test";

/** One line, or a few, without any markup. */
export function noticeOf(event: NoticeEvent): string {
  const text = event.type === testType ? "This is a test message from simfleet." : textOf(event);
  return event.profile === "default" || event.profile === "" ? text : `[${event.profile}] ${text}`;
}

function textOf(event: NoticeEvent): string {
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
