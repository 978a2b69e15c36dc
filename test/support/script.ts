/** Scripts next to the tests, in processes that are killed at any moment. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

/** Starts a script, which ends with the test at the latest. @returns when it has said on stdout that it works */
export async function startScript(script: URL, args: readonly string[]): Promise<ChildProcess> {
  const stdio = ["ignore", "pipe", "inherit"] as const;
  const child = spawn(process.execPath, [fileURLToPath(script), ...args], { stdio: [...stdio] });
  onTestFinished(() => void child.kill("SIGKILL"));
  await once(child.stdout, "data");
  return child;
}

export async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
}
