/** Ids of events, `milliseconds-number`, as assigned by Redis. */

/** Whether an event came after another. Called for every stream and page, so it allocates nothing. */
export function isAfter(id: string, other: string): boolean {
  const ms = Number.parseInt(id, 10);
  const otherMs = Number.parseInt(other, 10);
  return ms === otherMs ? numberOf(id) > numberOf(other) : ms > otherMs;
}

function numberOf(id: string): number {
  const dash = id.indexOf("-");
  return dash === -1 ? 0 : Number.parseInt(id.slice(dash + 1), 10);
}
