/**
 * `npm run bench -- --peers`: simfleet's limiter next to others, each in the same situations, against a sandbox with
 * the same quota, in turn. A trial makes the same calls from the middle of a window on, in as many processes as its
 * cell says.
 */
import { readFile, writeFile } from "node:fs/promises";
import { startOwnRedis } from "../own-redis.ts";
import { type Cell, cells } from "./cells.ts";
import { limiters } from "./limiters.ts";
import { type Results, median, tables } from "./report.ts";
import { type Trial, runTrial } from "./trial.ts";

const trialsAtOnce = 16;
const resultsFile = new URL("results.json", import.meta.url);

/** Of `npm run bench -- --peers`; cells and limiters are names with commas between them. */
export interface Comparison {
  readonly rounds: string;
  readonly cells?: string;
  readonly limiters?: string;
  /** Keeps the results for `npm run docs`. */
  readonly write: boolean;
}

export async function comparePeers(chosen: Comparison): Promise<void> {
  const chosenCells = cells.filter(({ name }) => chosen.cells?.split(",").includes(name) ?? true);
  const chosenLimiters = chosen.limiters?.split(",") ?? Object.keys(limiters);
  const trials = await runTrials(chosenCells, chosenLimiters, Number(chosen.rounds));
  const results: Results = Object.fromEntries(
    chosenCells.map(({ name, rival, live }) => [
      name,
      Object.fromEntries(
        chosenLimiters.map((limiter) => {
          const of = trials.get(`${name}\n${limiter}`) ?? [];
          const hasOthers = rival !== undefined || live > 0;
          const medianOf = (measure: keyof Trial, digits: number): number =>
            Number(median(of.map((trial) => trial[measure])).toFixed(digits));
          return [
            limiter,
            {
              ratio: medianOf("ratio", 3),
              throttled: medianOf("throttled", 0),
              cpuMs: medianOf("cpuMs", 2),
              redisCalls: medianOf("redisCalls", 2),
              ...(hasOthers ? { othersRefused: medianOf("othersRefused", 3), liveMs: medianOf("liveMs", 0) } : {}),
            },
          ];
        }),
      ),
    ]),
  );
  console.log(tables(results));
  if (chosen.write) {
    const written = JSON.parse(await readFile(resultsFile, "utf8")) as Results;
    const all = Object.fromEntries(cells.map(({ name }) => [name, { ...written[name], ...results[name] }]));
    await writeFile(resultsFile, `${JSON.stringify(all, null, 2)}\n`);
  }
}

/** Each trial's measures, by the name of its cell and its limiter. */
async function runTrials(chosenCells: readonly Cell[], chosenLimiters: readonly string[], rounds: number) {
  const { socketPath, close } = await startOwnRedis();
  const trials = new Map<string, Trial[]>();
  const waiting = Array.from({ length: rounds }, (_, round) =>
    chosenCells.flatMap((cell) => chosenLimiters.map((limiter) => ({ round, cell, limiter }))),
  ).flat();
  const total = waiting.length;
  let done = 0;
  async function work(): Promise<void> {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const { round, cell, limiter } = next;
      const prefix = `peers-${total - waiting.length}-${round}`;
      const key = `${cell.name}\n${limiter}`;
      const trial = await runTrial(limiter, cell, socketPath, prefix);
      trials.set(key, [...(trials.get(key) ?? []), trial]);
      done += 1;
      process.stderr.write(
        `${done}/${total} ${cell.name}, ${limiter}: ${trial.ratio.toFixed(3)}, ${trial.throttled} answers of 429\n`,
      );
    }
  }

  try {
    await Promise.all(Array.from({ length: trialsAtOnce }, work));
  } finally {
    await close();
  }
  return trials;
}
