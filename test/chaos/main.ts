/**
 * Chaos: real workers under load, while a plan of faults by seed breaks processes, Redis, the network, the platform,
 * clocks and the disk. When the faults end everything must come to rest, and all promises are checked. Each seed is one
 * round.
 *   npm run test:chaos -- --seed 1 --minutes 10       seeds 1, 2, … for ten minutes
 *   npm run test:chaos -- --seed 7 --seeds 1          one seed again
 *   --at-once N rounds at once (default 2); --calm-mb N or a calm round first: what a worker's memory is compared with
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { RoundResult } from "./round.ts";
import { nowMs } from "./time.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    seeds: { type: "string" },
    minutes: { type: "string" },
    "at-once": { type: "string", default: "2" },
    "calm-mb": { type: "string" },
  },
});
const first = Number(values.seed);
const max = values.seeds === undefined ? (values.minutes === undefined ? 1 : Infinity) : Number(values.seeds);
const endMs = values.minutes === undefined ? Infinity : nowMs() + Number(values.minutes) * 60_000;
const script = fileURLToPath(new URL("./round.ts", import.meta.url));
/** A round that hangs is ended: long after every deadline within it. */
const maxRoundMs = 300_000;

/** What came to rest later than this is named. */
const slowRestSeconds = 20;

const running = new Set<ChildProcess>();
const stopping = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    stopping.abort();
    for (const child of running) child.kill("SIGTERM");
  });
}

async function runRound(seed: number, options: readonly string[]): Promise<RoundResult | string> {
  const args = [script, String(seed), ...options];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe", "ipc"] });
  running.add(child);
  const late = setTimeout(() => child.kill("SIGTERM"), maxRoundMs);
  if (child.stdout === null || child.stderr === null) throw new Error("no output");
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  clearTimeout(late);
  running.delete(child);
  try {
    return JSON.parse(out) as RoundResult;
  } catch {
    return `seed ${seed} broke off: ${err.trim() || "without a word"}`;
  }
}

const totals = { seeds: 0, failed: 0, kills: 0, rows: 0, repeated: 0, unknown: 0, throttled: 0 };
const blows = new Map<string, number>();
const platformFaults = new Map<string, number>();

function add(counts: Map<string, number>, name: string, count = 1): void {
  counts.set(name, (counts.get(name) ?? 0) + count);
}

function take(seed: number, result: RoundResult | string): void {
  totals.seeds += 1;
  if (typeof result === "string") {
    totals.failed += 1;
    process.stdout.write(`${result}\n`);
    return;
  }
  const { workers, seconds, restSeconds, counts, faults, kept } = result;
  totals.kills += result.kills;
  totals.rows += counts.rows;
  totals.repeated += counts.repeated;
  totals.unknown += counts.unknown;
  totals.throttled += result.throttled;
  for (const { kind } of result.blows) add(blows, kind);
  for (const [kind, count] of Object.entries(result.platformFaults)) add(platformFaults, kind, count);
  const kinds = result.blows.map(({ kind }) => kind).join(" ");
  process.stdout.write(
    `seed ${seed}: ${faults.length === 0 ? "ok" : "FAILED"}, ${workers} workers, ${seconds.toFixed(1)} s ` +
      `(rest after ${restSeconds.toFixed(1)} s), ${counts.rows} rows, ${counts.repeated} repeated, ` +
      `${counts.unknown} unknown, ${Math.round(result.megabytes)} MB: ${kinds}\n`,
  );
  if (restSeconds > slowRestSeconds) process.stdout.write(`  last to rest: ${result.lastUnrest.slice(0, 500)}\n`);
  if (faults.length === 0) return;
  totals.failed += 1;
  for (const { kind, worker, atMs, lastedMs, note } of result.blows) {
    process.stdout.write(`  ${atMs} ms: ${kind}, worker ${worker}, for ${lastedMs} ms ${note}\n`);
  }
  process.stdout.write(`  first: ${faults[0]}\n`);
  if (faults.length > 1)
    process.stdout.write(`  and ${faults.length - 1} more: ${faults.slice(1, 6).join("\n    ")}\n`);
  process.stdout.write(`  kept: ${kept}\n`);
}

function listed(counts: ReadonlyMap<string, number>): string {
  const sum = [...counts.values()].reduce((total, count) => total + count, 0);
  return `${sum} (${[...counts]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([kind, count]) => `${kind} ${count}`)
    .join(", ")})`;
}

async function calmMegabytes(): Promise<string> {
  const given = values["calm-mb"];
  if (given !== undefined) return given;
  const calm = await runRound(first, ["calm"]);
  if (typeof calm === "string") throw new Error(calm);
  take(first, calm);
  totals.seeds = 0;
  totals.rows = 0;
  return String(Math.ceil(calm.megabytes));
}

const beganMs = nowMs();
const calmMb = await calmMegabytes();
let next = first;
async function lane(): Promise<void> {
  while (!stopping.signal.aborted && next < first + max && nowMs() < endMs) {
    const seed = next;
    next += 1;
    const result = await runRound(seed, [calmMb]);
    if (!stopping.signal.aborted) take(seed, result);
  }
}
await Promise.all(Array.from({ length: Number(values["at-once"]) }, lane));

process.stdout.write(
  `${totals.seeds} seeds, ${totals.failed} failed in ${((nowMs() - beganMs) / 1_000).toFixed(0)} s; ` +
    `kills ${totals.kills}; faults ${listed(blows)}; at the platform ${listed(platformFaults)}; ` +
    `rows ${totals.rows}, repeated ${totals.repeated}, unknown ${totals.unknown}; 429s ${totals.throttled}\n`,
);
process.exit(totals.failed > 0 || stopping.signal.aborted ? 1 : 0);
