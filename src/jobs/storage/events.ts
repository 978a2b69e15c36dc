/** The events of storage. */
import type { Events } from "#events/event.ts";

export const events = {
  "storage.low": {
    when: "Redis uses more of its memory than `retention.warnAtPercent`; emitted once a day while it does.",
    sentence: "Redis uses {percent}% of its memory",
    needsAttention: true,
    fields: { usedBytes: "bytes in use", limitBytes: "bytes that Redis may use", percent: "share in use" },
  },
} as const satisfies Events;

export const eventKinds = { storage: "Storage" } as const;

declare module "#events/event.ts" {
  interface EventTypes extends Readonly<Record<keyof typeof events, true>> {}
}
