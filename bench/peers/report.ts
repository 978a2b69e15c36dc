/** The results of `bench/peers.ts` as tables for docs/performance.md and as a picture. */
export interface Measured {
  readonly ratio: number;
  readonly throttled: number;
  readonly cpuMs: number | null;
  readonly redisCalls: number | null;
}

/** Medians, by cell and limiter. */
export type Results = Readonly<Record<string, Readonly<Record<string, Measured>>>>;

export function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;
}

const marks = { begin: "<!-- peers: begin -->", end: "<!-- peers: end -->" };
const costCells = ["windows of 10 s", "16 processes"];

function line(texts: readonly string[]): string {
  return `| ${texts.join(" | ")} |`;
}

function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  return [line(header), line(header.map(() => "---")), ...rows.map(line)].join("\n");
}

/** A limiter that did not make its calls within four times the least time has no figures. */
function shown(measured: Measured | undefined): string {
  if (measured === undefined) return "";
  return measured.ratio === 0 ? "not done" : `${measured.ratio.toFixed(2)}, ${measured.throttled}`;
}

function cost({ cpuMs, redisCalls }: Measured): string {
  return cpuMs === null || redisCalls === null ? "not done" : `${cpuMs.toFixed(1)} ms, ${redisCalls.toFixed(1)}`;
}

/** Markdown: the use of the quota and the answers of 429 by situation, then the cost of a call. */
export function tables(results: Results): string {
  const limiters = [...new Set(Object.values(results).flatMap((cell) => Object.keys(cell)))];
  const uses = table(
    ["situation", ...limiters],
    Object.entries(results).map(([name, cell]) => [name, ...limiters.map((limiter) => shown(cell[limiter]))]),
  );
  const costs = table(
    ["limiter", ...costCells.filter((name) => name in results)],
    limiters.map((limiter) => [
      limiter,
      ...costCells.flatMap((name) => {
        const measured = results[name]?.[limiter];
        return measured ? [cost(measured)] : [];
      }),
    ]),
  );
  return `${uses}\n\nProcessor time and commands to Redis per call:\n\n${costs}`;
}

/** The page with these tables between its two marks. */
export function withTables(page: string, results: Results): string {
  const [begin, end] = [page.indexOf(marks.begin) + marks.begin.length, page.indexOf(marks.end)];
  return `${page.slice(0, begin)}\n\n${tables(results)}\n\n${page.slice(end)}`;
}

const width = 780;
const rowHeight = 26;
const left = 250;
const top = 54;

function dot(x: number, y: number, limiter: string, measured: Measured): string {
  const title = `<title>${limiter}: ${shown(measured)}</title>`;
  if (limiter === "simfleet") return `<circle cx="${x}" cy="${y}" r="6" fill="#2563eb">${title}</circle>`;
  if (measured.throttled > 0)
    return `<circle cx="${x}" cy="${y}" r="4.5" fill="#fff" stroke="#dc2626" stroke-width="1.5">${title}</circle>`;
  return `<circle cx="${x}" cy="${y}" r="4.5" fill="#9ca3af">${title}</circle>`;
}

/** An SVG with a line per situation and a dot per limiter: the further right, the more of the quota is used. */
export function plot(results: Results): string {
  const xOf = (ratio: number): number => Number((left + ratio * (width - left - 24)).toFixed(1));
  const rows = Object.entries(results);
  const height = top + rows.length * rowHeight + 30;
  const lines = rows.map(([name, cell], row) => {
    const y = top + row * rowHeight + rowHeight / 2;
    const peersFirst = Object.entries(cell).toSorted(([a], [b]) => Number(a === "simfleet") - Number(b === "simfleet"));
    return `<text x="${left - 14}" y="${y + 4}" text-anchor="end">${name}</text>
<line x1="${left}" x2="${xOf(1)}" y1="${y}" y2="${y}" stroke="#e5e7eb"/>
${peersFirst.map(([limiter, measured]) => dot(xOf(Math.min(1, measured.ratio)), y, limiter, measured)).join("\n")}`;
  });
  const scale = [0, 0.25, 0.5, 0.75, 1].map(
    (ratio) =>
      `<text x="${xOf(ratio)}" y="${height - 10}" text-anchor="middle">${ratio}</text>
<line x1="${xOf(ratio)}" x2="${xOf(ratio)}" y1="${top}" y2="${height - 26}" stroke="#f3f4f6"/>`,
  );
  const legend = [
    [left, "simfleet", { ratio: 1, throttled: 0 }],
    [left + 90, "others without a 429", { ratio: 1, throttled: 0 }],
    [left + 250, "others with answers of 429", { ratio: 1, throttled: 1 }],
  ] as const;
  const legends = legend.map(
    ([x, text, measured]) =>
      `${dot(x + 6, 36, text, { ...measured, cpuMs: null, redisCalls: null })}<text x="${x + 16}" y="40">${text}</text>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" font-family="sans-serif" font-size="12">
<rect width="100%" height="100%" fill="#fff"/>
<text x="${left}" y="18" font-weight="bold">least possible time / time</text>
${legends.join("\n")}
${scale.join("\n")}
${lines.join("\n")}
</svg>
`;
}
