/** Until when a freeze is to hold, as a person writes it. */

export interface Until {
  /** ISO 8601, UTC; undefined: until somebody lifts it. */
  readonly until?: string;
  readonly fault?: string;
}

/** @param written what a field of date and time has, on the reader's clock; empty for no end */
export function untilOf(written: string, nowMs: number): Until {
  if (written === "") return {};
  const ms = Date.parse(written);
  if (Number.isNaN(ms)) return { fault: "Write a date and a time." };
  return ms <= nowMs ? { fault: "That is over already." } : { until: new Date(ms).toISOString() };
}
