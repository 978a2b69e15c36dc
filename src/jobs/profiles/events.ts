/** The events of the credentials of profiles. */
import type { Events } from "#events/event.ts";

export const events = {
  "secret.reloaded": {
    when: "A changed credentials file of a profile was reloaded: a process authenticates with the new credentials.",
    sentence: "{worker} reloaded its credentials",
    fields: { worker: "the process" },
  },
  "secret.kept": {
    when: "A changed credentials file of a profile cannot be loaded: a process keeps the previous credentials.",
    sentence: "{worker} keeps its previous credentials[: {reason}]",
    needsAttention: true,
    fields: { worker: "the process", reason: "the problem of the file" },
  },
} as const satisfies Events;

/** The kinds of these events, as titles. */
export const eventKinds = { secret: "Secrets" } as const;

declare module "#events/event.ts" {
  interface EventTypes extends Readonly<Record<keyof typeof events, true>> {}
}
