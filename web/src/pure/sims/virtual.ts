/** Which rows of a long list are drawn: those in sight, and some before and after. */

export interface Sight {
  readonly scrollTop: number;
  readonly height: number;
  readonly rowHeight: number;
}

export interface DrawnRows {
  readonly from: number;
  /** Exclusive. */
  readonly to: number;
}

const spare = 12;

export function drawnRows(rows: number, { scrollTop, height, rowHeight }: Sight): DrawnRows {
  const first = Math.floor(scrollTop / rowHeight);
  const last = Math.ceil((scrollTop + height) / rowHeight);
  return { from: Math.max(0, Math.min(rows, first - spare)), to: Math.min(rows, last + spare) };
}

/** Whether the end of what is loaded is near. */
export function isNearEnd(rows: number, drawn: DrawnRows): boolean {
  return drawn.to >= rows - 2 * spare;
}
