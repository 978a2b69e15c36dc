/** Bars: rows by outcome, shares of a whole, and the remaining quota. Each shows its numbers as text next to it. */
import type { ComponentChildren, JSX } from "preact";
import { grouped, percent } from "../../pure/format.ts";
import type { Tally, Outcome } from "../../pure/shapes.ts";
import { segmentsOf, settledRows } from "../../pure/runs/tally.ts";

const outcomesText: Readonly<Record<Outcome, string>> = {
  done: "accepted by the platform",
  skipped: "already as requested",
  rejected: "invalid, or rejected by the platform",
  failed: "no usable response after all attempts",
  unknown: "sent once, response lost; may be done",
  cancelled: "not sent: the run was cancelled or aborted",
  pending: "not processed yet",
};

export function OutcomeBar({ counts, isSlim = false }: { counts: Tally; isSlim?: boolean }): JSX.Element {
  const settled = settledRows(counts);
  return (
    <div
      class={`outcomes ${isSlim ? "is-slim" : ""}`}
      role="progressbar"
      aria-label="Rows with an outcome"
      aria-valuemin={0}
      aria-valuemax={counts.total}
      aria-valuenow={settled}
      aria-valuetext={`${grouped(settled)} of ${grouped(counts.total)} rows, ${percent(settled, counts.total)}`}
    >
      {segmentsOf(counts).map(({ outcome, share }) => (
        <span key={outcome} class={`of-${outcome}`} style={{ flex: `${share} 1 0` }} />
      ))}
    </div>
  );
}

export function OutcomeLegend({ counts }: { counts: Tally }): JSX.Element {
  return (
    <ul class="legend" aria-label="Rows by outcome">
      {segmentsOf(counts).map(({ outcome, rows }) => (
        <li key={outcome} title={outcomesText[outcome]}>
          <span class={`swatch of-${outcome}`} />
          <b>{grouped(rows)}</b> {outcome}
        </li>
      ))}
    </ul>
  );
}

/** The remainder of a window; the part that bulk work leaves to other callers is hatched. */
export function QuotaMeter({ left, limit, kept }: { left: number; limit: number; kept: number }): JSX.Element {
  const share = (count: number): string => `${limit === 0 ? 0 : Math.min(100, (100 * count) / limit)}%`;
  return (
    <div
      class="meter"
      role="meter"
      aria-label="Calls left in this window"
      aria-valuemin={0}
      aria-valuemax={limit}
      aria-valuenow={Math.min(left, limit)}
      aria-valuetext={`${grouped(left)} of ${grouped(limit)} calls left${kept > 0 ? `, ${grouped(kept)} kept for others` : ""}`}
    >
      <span style={{ width: share(left) }} />
      {kept > 0 && <span class="meter-reserve" style={{ width: share(Math.min(kept, left)) }} />}
    </div>
  );
}

export function Figure({
  label,
  children,
  note,
}: {
  label: string;
  children: ComponentChildren;
  note?: ComponentChildren;
}): JSX.Element {
  return (
    <div class="figure">
      <dt>{label}</dt>
      <dd>
        {children}
        {note !== undefined && <small>{note}</small>}
      </dd>
    </div>
  );
}
