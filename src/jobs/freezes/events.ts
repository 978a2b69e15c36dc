/** The events of freezes. */
import type { Events } from "#events/event.ts";

export const events = {
  "freeze.started": {
    when: "A user froze all changes: runs make no calls and rotations take no steps.",
    sentence: "{by} froze all changes[ until {until}][: {reason}]",
    fields: { by: "who", reason: "why", until: "when the freeze ends automatically, ISO 8601; absent if it does not" },
  },
  "freeze.ended": { when: "A user ended the freeze.", sentence: "{by} ended the freeze", fields: { by: "who" } },
} as const satisfies Events;

export const eventKinds = { freeze: "Freezes" } as const;

declare module "#events/event.ts" {
  interface EventTypes extends Readonly<Record<keyof typeof events, true>> {}
}
