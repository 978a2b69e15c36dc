/** The results of `npm run bench -- --peers` as tables for docs/reference/performance.md (`npm run docs`). */
export interface Measured {
  readonly ratio: number;
  readonly throttled: number;
  readonly cpuMs: number | null;
  readonly redisCalls: number | null;
  /** Where others call, too. */
  readonly othersRefused?: number;
  readonly liveMs?: number;
}

/** Medians, by cell and limiter. */
export type Results = Readonly<Record<string, Readonly<Record<string, Measured>>>>;

export function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;
}

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
  const { ratio, throttled, othersRefused, liveMs = 0 } = measured;
  const own = ratio === 0 ? "not done" : `${ratio.toFixed(2)}, ${throttled}`;
  if (othersRefused === undefined) return own;
  const waited = liveMs === 0 ? "" : `, p99 ${(liveMs / 1_000).toFixed(1)} s`;
  return `${own}; others ${(100 * othersRefused).toFixed(0)} %${waited}`;
}

function cost({ cpuMs, redisCalls }: Measured): string {
  return cpuMs === null || redisCalls === null ? "not done" : `${cpuMs.toFixed(1)} ms, ${redisCalls.toFixed(1)}`;
}

/** Markdown: the use of the quota and the responses of 429 by situation, then the cost of a call. */
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
