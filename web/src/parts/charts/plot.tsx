/** A chart as SVG, in the width of its container. A sentence describes its content to those who cannot see it. */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { countMarks, timeMarks } from "../../pure/axis.ts";
import { grouped, zoneOf } from "../../pure/format.ts";

export interface Series {
  readonly name: string;
  readonly values: readonly (number | null)[];
  readonly kind?: "line" | "bars";
  /** Name of a color in tokens.css. */
  readonly color: string;
  /** Lines also differ by their dashes. */
  readonly dash?: readonly number[] | undefined;
}

interface PlotProps {
  /** Description of the chart in one sentence. */
  readonly says: string;
  /** Seconds since 1970, ascending. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
  readonly height?: number;
}

/** Room for the numbers at the left and the times below, in pixels. */
const margin = { left: 56, right: 10, top: 8, bottom: 24 };

export function Plot({ says, times, series, height = 200 }: PlotProps): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const host = place.current;
    if (host === null) return undefined;
    const watch = new ResizeObserver(() => setWidth(host.clientWidth));
    watch.observe(host);
    return () => watch.disconnect();
  }, []);
  return (
    <figure class="plot">
      <div
        ref={place}
        role="img"
        aria-label={[says, ...series.map(heard)].join("; ")}
        style={{ height: `${height}px` }}
      >
        {width > 0 && times.length > 0 && <Drawing {...{ times, series, width, height }} />}
      </div>
      <Keys series={series} zone={zoneOf(new Date((times.at(-1) ?? 0) * 1_000))} />
    </figure>
  );
}

/** The numbers that the eye takes from a series: where a line ends and its range, or the largest of its bars. */
function heard({ name, values, kind }: Series): string {
  const known = values.filter((value) => value !== null);
  if (known.length === 0) return `${name}: no value`;
  const [min, max] = [Math.min(...known), Math.max(...known)];
  if (kind === "bars") return `${name}: ${grouped(sumOf(known))} in total, ${grouped(max)} at most`;
  const last = known.at(-1) ?? 0;
  return min === max
    ? `${name}: ${grouped(last)}`
    : `${name}: ${grouped(last)} now, between ${grouped(min)} and ${grouped(max)}`;
}

function sumOf(counts: readonly number[]): number {
  return counts.reduce((sum, one) => sum + one, 0);
}

interface Drawn extends Pick<PlotProps, "times" | "series"> {
  readonly width: number;
  readonly height: number;
}

function Drawing({ times, series, width, height }: Drawn): JSX.Element {
  const [first = 0, last = 0] = [times[0], times.at(-1)];
  const hasBars = series.some(({ kind }) => kind === "bars");
  // Half a bar more at each end, so that none is clipped; a single bar stands in the middle.
  const half = times.length === 1 ? 1 : hasBars ? (last - first) / (2 * (times.length - 1)) : 0;
  const max = 1.08 * Math.max(1, ...series.flatMap(({ values }) => values.map((value) => value ?? 0)));
  const room = { width: width - margin.left - margin.right, height: height - margin.top - margin.bottom };
  const span = last - first + 2 * half || 1;
  const x = (at: number): number => margin.left + (room.width * (at - first + half)) / span;
  const y = (count: number): number => margin.top + room.height * (1 - count / max);
  const barWidth = Math.min(26, (0.7 * room.width) / times.length);
  return (
    <svg width={width} height={height} aria-hidden="true">
      {countMarks(max, room.height / 44).map((count) => (
        <g key={count}>
          <path d={`M${margin.left} ${y(count)}H${width - margin.right}`} />
          <text x={margin.left - 8} y={y(count) + 4} text-anchor="end">
            {grouped(count)}
          </text>
        </g>
      ))}
      {timeMarks([first, last], room.width / 80).map((mark) => (
        <text key={mark.at} x={x(mark.at)} y={height - 6} text-anchor="middle">
          {mark.text}
        </text>
      ))}
      {series.map(({ name, values, kind, color, dash }) =>
        kind === "bars" ? (
          <path key={name} d={barsOf(values, { times, x, y, barWidth })} fill={`var(${color})`} stroke="none" />
        ) : (
          <path
            key={name}
            d={lineOf(values, { times, x, y, half })}
            stroke={`var(${color})`}
            stroke-width="2"
            stroke-dasharray={dash?.join(" ")}
          />
        ),
      )}
    </svg>
  );
}

interface Scale {
  readonly times: readonly number[];
  readonly x: (at: number) => number;
  readonly y: (count: number) => number;
}

/** Interrupted where a value is missing; next to bars, as wide as they are. */
function lineOf(values: Series["values"], { times, x, y, half }: Scale & { half: number }): string {
  const at = (time: number, value: number): string => `${x(time).toFixed(1)} ${y(value).toFixed(1)}`;
  return values
    .map((value, i) => {
      if (value === null) return "";
      const time = times[i] ?? 0;
      const start = (values[i - 1] ?? null) === null ? `M${at(time - half, value)}` : `L${at(time - half, value)}`;
      return half === 0 ? start : `${start}L${at(time + half, value)}`;
    })
    .join("");
}

function barsOf(values: Series["values"], { times, x, y, barWidth }: Scale & { barWidth: number }): string {
  return values
    .map((value, i) => {
      if (value === null || value === 0) return "";
      const left = x(times[i] ?? 0) - barWidth / 2;
      return `M${left.toFixed(1)} ${y(0)}V${y(value).toFixed(1)}h${barWidth.toFixed(1)}V${y(0)}Z`;
    })
    .join("");
}

function Keys({ series, zone }: Pick<PlotProps, "series"> & { zone: string }): JSX.Element {
  return (
    <figcaption>
      <ul class="plot-keys">
        {(series.length > 1 ? series : []).map(({ name, color, dash, kind }) => (
          <li key={name}>
            <svg width="22" height="10" aria-hidden="true">
              {kind === "bars" ? (
                <rect x="4" y="0" width="12" height="10" rx="2" fill={`var(${color})`} />
              ) : (
                <path d="M1 5h20" stroke={`var(${color})`} stroke-width="2.5" stroke-dasharray={dash?.join(" ")} />
              )}
            </svg>
            {name}
          </li>
        ))}
        <li class="quiet">{zone}</li>
      </ul>
    </figcaption>
  );
}
