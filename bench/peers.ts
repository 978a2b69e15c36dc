/**
 * simfleet's limiter next to others: each in the same situations, against a sandbox with the same quota, in turn. A
 * trial makes the same calls from the middle of a window on, in as many processes as its cell says.
 *
 *   npm run bench:peers                             all cells, five rounds; about 40 minutes
 *   npm run bench:peers -- --write                  the same, kept for `npm run docs`; of chosen cells or
 *                                                   limiters, what was written of the others stays
 *   npm run bench:peers -- --rounds 1 --cells "windows of 1 s,4 processes" --limiters "simfleet,Bottleneck"
 */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { attachRedis } from "#redis/embedded/embedded.ts";
import { cells } from "./peers/cells.ts";
import { limiters } from "./peers/limiters.ts";
import { type Results, median, tables } from "./peers/report.ts";
import { type Trial, runTrial } from "./peers/trial.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    parallel: { type: "string", default: "16" },
    cells: { type: "string", default: cells.map(({ name }) => name).join(",") },
    limiters: { type: "string", default: Object.keys(limiters).join(",") },
    write: { type: "boolean", default: false },
  },
});
const chosenCells = cells.filter(({ name }) => values.cells.split(",").includes(name));
const chosenLimiters = values.limiters.split(",");
const resultsFile = new URL("peers/results.json", import.meta.url);

const cacheDir = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "simfleet");
const dataDir = await mkdtemp(join(tmpdir(), "simfleet-peers-"));
const redis = await attachRedis({ dataDir, cacheDir, path: process.env.PATH ?? "" });
const trials = new Map<string, Trial[]>();
const rounds = Array.from({ length: Number(values.rounds) }, (_, round) => round);
const waiting = rounds.flatMap((round) =>
  chosenCells.flatMap((cell) => chosenLimiters.map((limiter) => ({ round, cell, limiter }))),
);
const total = waiting.length;
let done = 0;

async function work(): Promise<void> {
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const { round, cell, limiter } = next;
    const prefix = `peers-${total - waiting.length}-${round}`;
    const key = `${cell.name}\n${limiter}`;
    const trial = await runTrial(limiter, cell, redis.socketPath, prefix);
    trials.set(key, [...(trials.get(key) ?? []), trial]);
    done += 1;
    process.stderr.write(
      `${done}/${total} ${cell.name}, ${limiter}: ${trial.ratio.toFixed(3)}, ${trial.throttled} answers of 429\n`,
    );
  }
}

try {
  await Promise.all(Array.from({ length: Number(values.parallel) }, work));
} finally {
  await redis.close();
  await rm(dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 }); // its Redis is still shutting down
}

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
if (values.write) {
  const written = JSON.parse(await readFile(resultsFile, "utf8")) as Results;
  const all = Object.fromEntries(cells.map(({ name }) => [name, { ...written[name], ...results[name] }]));
  await writeFile(resultsFile, `${JSON.stringify(all, null, 2)}\n`);
}
