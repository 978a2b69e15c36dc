/**
 * A uPlot chart in the colors of the theme and the width of its container. A sentence next to it describes its content.
 */
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import UPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { clockTime, grouped } from "../pure/format.ts";
import { isDark } from "../theme.ts";

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

export function Plot({ says, times, series, height = 200 }: PlotProps): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<UPlot>(undefined);
  const shape = `${isDark.value} ${series.map(({ name }) => name).join("\n")}`;
  const data: UPlot.AlignedData = [[...times], ...series.map(({ values }) => [...values])];

  useEffect(() => {
    const host = place.current;
    if (host === null) return undefined;
    const drawn = new UPlot(optionsOf(series, { width: host.clientWidth, height }), data, host);
    plot.current = drawn;
    const watch = new ResizeObserver(() => drawn.setSize({ width: host.clientWidth, height }));
    watch.observe(host);
    return () => {
      watch.disconnect();
      drawn.destroy();
    };
  }, [shape, height]);
  useEffect(() => plot.current?.setData(data), [times, series]);

  return (
    <figure class="plot">
      <div ref={place} role="img" aria-label={says} />
      {series.length > 1 && (
        <figcaption>
          <ul class="plot-keys">
            {series.map(({ name, color, dash, kind }) => (
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
          </ul>
        </figcaption>
      )}
    </figure>
  );
}

function optionsOf(series: readonly Series[], size: { width: number; height: number }): UPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const color = (name: string): string => style.getPropertyValue(name).trim();
  const hasBars = series.some(({ kind }) => kind === "bars");
  const axis = {
    stroke: color("--ink-3"),
    font: "12px system-ui, sans-serif",
    grid: { stroke: color("--line"), width: 1 },
    ticks: { show: false },
  };
  return {
    ...size,
    legend: { show: false },
    cursor: { show: false },
    scales: {
      ...(hasBars ? { x: { range: roomForBars } } : {}),
      y: { range: (_plot, _least, most) => [0, Math.max(1, most) * 1.08] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 28,
        space: 70,
        values: (_plot, splits) => splits.map((seconds) => clockTime(seconds * 1_000)),
      },
      {
        ...axis,
        size: 58,
        space: 44,
        values: (_plot, splits) => splits.map((value) => (Number.isInteger(value) ? grouped(value) : "")),
      },
    ],
    series: [{}, ...series.map((one) => seriesOptions(one, color(one.color)))],
  };
}

function seriesOptions({ kind, dash }: Series, stroke: string): UPlot.Series {
  if (kind === "bars") {
    const paths = UPlot.paths.bars?.({ size: [0.7, 26], radius: 0.15 });
    return { fill: stroke, stroke, width: 0, points: { show: false }, ...(paths === undefined ? {} : { paths }) };
  }
  return { stroke, width: 2, points: { show: false }, ...(dash === undefined ? {} : { dash: [...dash] }) };
}

/** Half a bar more at each end, so that none is clipped. */
const roomForBars: UPlot.Range.Function = (plot, first, last) => {
  const half = (last - first) / Math.max(1, 2 * ((plot.data[0]?.length ?? 2) - 1));
  return [first - half, last + half];
};
