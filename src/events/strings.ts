/** The texts of the command `simfleet events`. */

export const eventsSummary = "event history and live feed";

export const eventsStrings = {
  tail: "print events, oldest first",
  since:
    "start after this event ID, or at an age such as 90m, 24h or 7d, or a date or time such as 2026-11-20 or 2026-11-20T08:00, in local time unless it has an offset",
  type: "only events of this type, such as run.completed or run.*; repeatable",
  unknownType: (pattern: string, suggestion: string) =>
    `There is no event ${pattern}.${suggestion} docs/events.md lists them.`,
  limit: "without --since: number of most recent events",
  last: "the earlier name of --limit",
  follow: "print new events until Ctrl-C; with --json one document per line (NDJSON)",
} as const;
