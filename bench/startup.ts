/**
 * Measures how long commands take from start to end: wall and processor time, the best and the median of some rounds. It
 * starts dist/cli.js, a sandbox and, for the commands that need one, a Redis of its own that stays up during the rounds.
 *
 *   npm run bench:startup
 *   npm run bench:startup -- --rounds 21
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { EmbeddedRedis } from "#redis/embedded/embedded.ts";
import { startSandbox } from "#sandbox/server.ts";

const { values } = parseArgs({ options: { rounds: { type: "string", default: "9" } } });
const rounds = Number(values.rounds);
const cli = fileURLToPath(new URL("../dist/cli.js", import.meta.url));
/** Prints the processor time of the process that it is loaded into. */
const hook = `process.on("exit", () => { const { user, system } = process.cpuUsage();
  require("node:fs").writeSync(2, "\\ncpu " + (user + system) / 1e6 + "\\n"); });`;

interface Round {
  readonly wall: number;
  readonly cpu: number;
}

async function measure(args: readonly string[], env: NodeJS.ProcessEnv, hookFile: string): Promise<Round> {
  const startedMs = performance.now();
  const child = spawn(process.execPath, ["--require", hookFile, cli, ...args], {
    env,
    stdio: ["ignore", "ignore", "pipe"],
  });
  let stderr = "";
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  const [code] = (await once(child, "close")) as [number | null];
  const wall = (performance.now() - startedMs) / 1_000;
  if (code !== 0) throw new Error(`simfleet ${args.join(" ")} ended with ${code}:\n${stderr}`);
  return { wall, cpu: Number(/^cpu (\S+)$/m.exec(stderr)?.[1]) };
}

const folder = await mkdtemp(join(tmpdir(), "startup-"));
const sandbox = await startSandbox({ port: 0 });
const dataDir = join(folder, "data");
const cacheHome = process.env.XDG_CACHE_HOME || join(homedir(), ".cache");
const path = process.env.PATH ?? "";
const redis = await EmbeddedRedis.attach({ dataDir, cacheDir: join(cacheHome, "simfleet"), path });
try {
  const hookFile = join(folder, "hook.cjs");
  await writeFile(hookFile, hook);
  const file = join(folder, "fleet.csv");
  const rows = Array.from({ length: 1_000 }, (_, n) => `${sandbox.state.sims.simIdAt(n)},s1.fast\n`);
  await writeFile(file, `simId,speedClass\n${rows.join("")}`);
  const env = {
    PATH: path,
    HOME: folder,
    XDG_CACHE_HOME: cacheHome,
    SIMFLEET_DATA_DIR: dataDir,
    SIMFLEET_ENDPOINT_GLOBAL: sandbox.url,
    SIMFLEET_AUTH_KEY_ID: sandbox.options.authKeyId,
    SIMFLEET_AUTH_KEY: sandbox.options.authKey,
  };
  console.log("command            best wall  median wall   best cpu  median cpu  (seconds)");
  const completion = ["completion", "words", "--current", "", "--", "runs", "show"];
  for (const args of [["--version"], ["--help"], completion, ["apply", "--help"], ["quota"], ["plan", file]]) {
    await measure(args, env, hookFile); // fills the compile cache
    const measured: Round[] = [];
    for (let n = 0; n < rounds; n += 1) measured.push(await measure(args, env, hookFile));
    const of = (name: keyof Round): string => {
      const sorted = measured.map((round) => round[name]).toSorted((a, b) => a - b);
      return `${(sorted[0] ?? 0).toFixed(2).padStart(9)}  ${(sorted[rounds >> 1] ?? 0).toFixed(2).padStart(11)}`;
    };
    const name = { plan: "plan (1,000 rows)", completion: "a completion" }[args[0] ?? ""] ?? args.join(" ");
    console.log(`${name.padEnd(18)} ${of("wall")}  ${of("cpu")}`);
  }
} finally {
  await redis.close();
  await sandbox.close();
  await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
}
