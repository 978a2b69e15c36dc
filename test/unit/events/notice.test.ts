/** What people read in a chat, and the forms in which chats take it. */
import { describe, expect, it } from "vitest";
import { factsOfEvent, eventTypes, isMeantBy, knownPatterns, typesMeantBy } from "#events/event.ts";
import { type NoticeEvent, contentOf, noticeOf } from "#events/webhook/webhook-message.ts";
import "#features.ts";

function reported(type: string, fields: Record<string, string> = {}, profile = "default"): NoticeEvent {
  return { type, profile, atMs: Date.UTC(2026, 10, 20, 8), fields };
}

const run = { run: "r-1", name: "stadium", total: "12345", done: "12000", skipped: "0", rejected: "300", failed: "45" };

describe("event notices", () => {
  const sentences: [NoticeEvent, sentence: string][] = [
    [reported("run.completed", run), "Run r-1 “stadium” completed: 12000 of 12345 rows done, 45 failed, 300 rejected."],
    [
      reported("run.aborted", { ...run, reason: "more than 5 % of its rows failed." }),
      "Run r-1 “stadium” was aborted: more than 5 % of its rows failed.",
    ],
    [
      reported("run.paused", { run: "r-1", by: "cli:ann" }, "plant"),
      "[plant] Run r-1 was paused by cli:ann. Resume it with: simfleet runs resume r-1",
    ],
    [
      reported("credential.failed", { rotation: "mqtt", reason: "a sink", sinks: "file /x" }),
      "The rotation mqtt failed: a sink. The old secret stays in use. These have the new value already: file /x.",
    ],
    [
      reported("freeze.started", { by: "cli:ann", reason: "year-end", until: "2027-01-04T00:00:00Z" }, ""),
      "cli:ann froze all changes until 2027-01-04T00:00:00Z: year-end.",
    ],
    [reported("newer.thing", { a: "1", b: "", c: "x y" }), "newer.thing: a 1, c x y"],
    [reported("newer.thing"), "newer.thing"],
  ];

  it.each(sentences)("the notice of %j is a sentence", (event, sentence) => {
    expect(noticeOf(event)).toBe(sentence);
  });

  it.each(eventTypes)("the notice of %s is complete with the fields of the catalog", (type) => {
    const fields = Object.fromEntries(Object.keys(factsOfEvent(type)?.fields ?? {}).map((name) => [name, "7"]));
    expect(noticeOf(reported(type, fields))).not.toMatch(/undefined|NaN|null/);
  });
});

/** The texts of a chat message, wherever they are. */
function textsIn(body: string): string[] {
  const texts: string[] = [];
  JSON.parse(body, (key, value: unknown) => {
    if (key === "text") texts.push(String(value));
    return value;
  });
  return texts;
}

describe("webhook messages", () => {
  const event = reported("run.completed", { ...run, name: '<!channel> & "co"' });

  it("a webhook message for programs follows the Standard Webhooks specification", () => {
    const { body, contentType } = contentOf(event, "standard");
    expect([contentType, JSON.parse(body)]).toEqual([
      "application/json",
      { type: "run.completed", timestamp: "2026-11-20T08:00:00.000Z", data: { profile: "default", ...event.fields } },
    ]);
  });

  it("a chat message mentions nobody for any run name", () => {
    const { text } = JSON.parse(contentOf(event, "slack").body) as { text: string };
    expect(text).toContain('Run r-1 “&lt;!channel&gt; &amp; "co"” completed');
    expect(contentOf(event, "text")).toEqual({ body: noticeOf(event), contentType: "text/plain; charset=utf-8" });
  });

  const markup: [name: string, live: string][] = [
    ["@channel", "@channel"],
    ["@here", "@here"],
    ["@all please", "@all"],
    ["ops@everyone", "@everyone"],
    ["<!channel>", "<!channel>"],
    ["<@U012AB3CD>", "<@"],
    ["[press here](https://evil.example)", "]("],
    ["[press][1]", "]["],
    ["see https://evil.example/x", "https://"],
    ["HTTP://EVIL.EXAMPLE", "HTTP://"],
    ["www.evil.example", "www."],
    ["mailto:ann@evil.example", "mailto:a"],
    ["<http://evil.example|press>", "<http"],
    ["![x](http://evil.example/x.png)", "]("],
    ["a\nb\u001b[2J\u202e", "\n"],
  ];

  it.each(markup)("a chat message neutralizes the markup in a run named %j", (name, live) => {
    const hostile = reported("run.paused", { run: "r-1", name, by: name, reason: name }, name);
    const slack = contentOf(hostile, "slack").body;
    const teams = contentOf(hostile, "teams").body;
    for (const body of [slack, teams]) {
      const texts = textsIn(body);
      expect(texts).toHaveLength(1);
      // Teams reads no angle brackets in this kind of text.
      if (body === slack || !live.startsWith("<")) expect(texts[0]).not.toContain(live);
      expect(texts[0]).not.toMatch(/@[\p{L}\p{N}]|:\/\/|\]\(|www\.|[\p{Cc}\u202e]/u);
    }
    expect(contentOf(hostile, "text").body).not.toMatch(/[\p{Cc}\u202e]/u);
    const { data } = JSON.parse(contentOf(hostile, "standard").body) as { data: { name: string } };
    expect(data.name).toBe(name);
  });

  it("a Teams message is an Adaptive Card without markup", () => {
    const body = [{ type: "RichTextBlock", inlines: [{ type: "TextRun", text: noticeOf(event) }] }];
    const content: unknown = expect.objectContaining({ type: "AdaptiveCard", version: "1.4", body });
    const contentType = "application/vnd.microsoft.card.adaptive";
    expect(JSON.parse(contentOf(event, "teams").body)).toEqual({
      type: "message",
      attachments: [{ contentType, contentUrl: null, content }],
    });
  });
});

describe("event patterns", () => {
  it.each([
    ["*", "run.completed", true],
    ["run.*", "run.completed", true],
    ["run.completed", "run.completed", true],
    ["run", "run.completed", false],
    ["run.*", "runaway.completed", false],
    ["sim.*", "run.completed", false],
    ["", "run.completed", false],
  ])("the event pattern %s matches %s: %s", (pattern, type, isMeant) => {
    expect(isMeantBy(pattern, type)).toBe(isMeant);
  });

  it("every known event pattern matches at least one event type", () => {
    for (const pattern of knownPatterns()) expect([pattern, typesMeantBy(pattern).length > 0]).toEqual([pattern, true]);
    expect(typesMeantBy("runs.*")).toEqual([]);
  });
});
