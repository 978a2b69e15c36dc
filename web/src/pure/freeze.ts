/** The end of a freeze, as entered by a user. */

export interface Until {
  /** ISO 8601, UTC; undefined: until it is ended manually. */
  readonly until?: string;
  readonly fault?: string;
}

/** @param written value of a date and time field, in local time; empty for no end */
export function untilOf(written: string, nowMs: number): Until {
  if (written === "") return {};
  const ms = Date.parse(written);
  if (Number.isNaN(ms)) return { fault: "Enter a date and a time." };
  return ms <= nowMs ? { fault: "Enter a time in the future." } : { until: new Date(ms).toISOString() };
}
