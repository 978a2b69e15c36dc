/** Real simfleet processes, from dist/, started and stopped by their pid. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const cli = fileURLToPath(new URL("../dist/cli.js", import.meta.url));

export interface SimfleetProcess {
  readonly child: ChildProcess;
  stop(): Promise<void>;
}

type Environment = Readonly<Record<string, string>>;

function start(args: readonly string[], env: Environment, program = cli): ChildProcess {
  const inherited = { PATH: process.env.PATH ?? "", HOME: process.env.HOME ?? "" };
  return spawn(process.execPath, [program, ...args], {
    env: { ...inherited, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
}

/** Resolves when the worker reports that it is ready; `url` is that of its control API, if it has one. */
export async function startWorker(env: Environment): Promise<SimfleetProcess & { readonly url: string }> {
  const child = start(["worker"], env);
  let log = "";
  await new Promise<void>((resolve, reject) => {
    child.stderr?.on("data", (data: Buffer) => {
      log += data.toString();
      if (log.includes("the worker is ready")) resolve();
    });
    child.once("exit", (code) => reject(new Error(`the worker ended with ${code}: ${log}`)));
  });
  child.stderr?.resume();
  return { child, url: /"http":"([^"]+)"/.exec(log)?.[1] ?? "", stop: () => stop(child) };
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill("SIGTERM");
  await gone;
}

/** A sandbox in a separate process, and the settings that reach it. */
export async function startSandboxProcess(
  args: readonly string[],
): Promise<SimfleetProcess & { readonly environment: Record<string, string> }> {
  const child = start(["sandbox", "--port", "0", "--json", ...args], {});
  child.stderr?.resume();
  let out = "";
  const environment = await new Promise<Record<string, string>>((resolve, reject) => {
    child.stdout?.on("data", (data: Buffer) => {
      out += data.toString();
      if (out.trimEnd().endsWith("}"))
        resolve((JSON.parse(out) as { environment: Record<string, string> }).environment);
    });
    child.once("exit", (code) => reject(new Error(`the sandbox ended with ${code}`)));
  });
  return { child, environment, stop: () => stop(child) };
}

/**
 * Runs a command until it ends, polling its process meanwhile, and returns what it printed on stdout.
 * @param program path of another program to run instead of simfleet
 */
export async function runSimfleet(
  args: readonly string[],
  env: Environment,
  poll?: (pid: number) => Promise<void>,
  program?: string,
): Promise<string> {
  const child = start(args, env, program);
  const polling = poll && setInterval(() => void poll(child.pid ?? 0), 20);
  let out = "";
  let err = "";
  child.stdout?.on("data", (data: Buffer) => (out += data.toString()));
  child.stderr?.on("data", (data: Buffer) => (err += data.toString()));
  const [code] = (await once(child, "close")) as [number | null];
  clearInterval(polling);
  if (code !== 0) throw new Error(`simfleet ${args.join(" ")} ended with ${code}:\n${err}${out}`);
  return out;
}
