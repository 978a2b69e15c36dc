/** The events of usage. */
import type { Events } from "#events/event.ts";

export const events = {
  "sim.usage-crossed": {
    when: "A SIM has used more than a threshold in its day or month: once for each SIM, threshold and period.",
    sentence: "{sim} used {bytes} bytes in {period}, more than the threshold {threshold} of {over}",
    fields: {
      sim: "its key",
      threshold: "name of the threshold (`usage.thresholds`)",
      per: "`day` or `month`",
      period: "the day or month, `2026-11-20` or `2026-11`, UTC",
      over: "the threshold, in bytes",
      bytes: "what the SIM has used in the period so far",
      cause: "the sync of the usage",
    },
  },
  "usage.synced": {
    when: "The usage of all SIMs was read, and thresholds were compared with it.",
    sentence: "The usage of {sims} SIMs was read: {crossed} over a threshold, {unknown} not in the inventory",
    fields: {
      cause: "the sync of the usage",
      sims: "SIMs with usage in this month",
      unknown: "SIMs of the export that are not in the inventory",
      crossed: "SIMs that have crossed a threshold since the sync before, counted for each threshold",
    },
  },
  "usage.failed": {
    when: "The usage could not be read; the inventory keeps the usage that it had, and no threshold was compared.",
    sentence: "The usage could not be read[: {reason}]",
    needsAttention: true,
    fields: { cause: "the sync of the usage", reason: "why" },
  },
} as const satisfies Events;

export const eventKinds = { usage: "Usage" } as const;

declare module "#events/event.ts" {
  interface EventTypes extends Readonly<Record<keyof typeof events, true>> {}
}
