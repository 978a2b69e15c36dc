/** The plot of a soak: one line per measure, each with its own scale. */
export interface Sample {
  readonly minute: number;
  readonly workerMb: number;
  readonly openFiles: number;
  readonly redisMb: number;
  /** Share of one core, in percent, since the sample before. */
  readonly cpuPercent: number;
}

export function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;
}

const width = 720;
const rowHeight = 110;
const left = 60;
const rows = [
  { measure: "workerMb", title: "worker, MB" },
  { measure: "openFiles", title: "open files of the worker" },
  { measure: "redisMb", title: "Redis, MB" },
  { measure: "cpuPercent", title: "CPU of the worker, % of a core" },
] as const;

/** An SVG with the four measures below each other. */
export function plot(samples: readonly Sample[]): string {
  const minutes = samples.at(-1)?.minute ?? 1;
  const charts = rows.map(({ measure, title }, row) => {
    const most = Math.max(...samples.map((sample) => sample[measure])) * 1.1;
    const top = row * rowHeight + 24;
    const high = rowHeight - 40;
    const points = samples.map((sample) => {
      const x = left + (sample.minute / minutes) * (width - left - 10);
      return `${x.toFixed(1)},${(top + high - (sample[measure] / most) * high).toFixed(1)}`;
    });
    return `<text x="${left}" y="${top - 8}">${title}</text>
<text x="${left - 6}" y="${top + 4}" text-anchor="end">${most.toFixed(0)}</text><text x="${left - 6}" y="${top + high}" text-anchor="end">0</text>
<rect x="${left}" y="${top}" width="${width - left - 10}" height="${high}" fill="none" stroke="#bbb"/>
<polyline fill="none" stroke="#2563eb" points="${points.join(" ")}"/>`;
  });
  const height = rows.length * rowHeight + 10;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" font-family="sans-serif" font-size="11">
<rect width="100%" height="100%" fill="#fff"/>
${charts.join("\n")}
<text x="${width - 10}" y="${height - 4}" text-anchor="end">${minutes.toFixed(0)} minutes</text>
</svg>
`;
}
