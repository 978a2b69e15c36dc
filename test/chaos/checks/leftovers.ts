/**
 * Checks of what faults must not leave behind: keys in Redis without an end, permits not given back, open files
 * and connections, memory, and secrets or internal errors in the log.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { Keys } from "#redis/keys.ts";
import { runKeys } from "#jobs/runs/ledger/keys.ts";
import { connections, secrets, type Stage } from "../stage/stage.ts";
import { sleep } from "../time.ts";

const keys = new Keys();
/** How long a permit counts that was never answered (src/limiter/limiter.ts). */
const permitMs = 45_000;
/** Connections to the platform that are kept open, and some for what a worker opens when it first needs it. */
const moreFds = connections + 12;
/** A report is written within this time. */
const writingMs = 5_000;
/** Memory of a worker in calm, if nobody has measured it. */
const usualMegabytes = 190;

/** @param restMs when everything was at rest, ms since the epoch */
export async function checkKeys({ redis: { direct } }: Stage, restMs: number): Promise<string[]> {
  const faults: string[] = [];
  let cursor = "0";
  do {
    const [next, found] = await direct.scan(cursor, "MATCH", `${keys.prefix}:*`, "COUNT", 1_000);
    cursor = next;
    for (const key of found) {
      if (key.startsWith(runKeys(keys).draft("")) && (await direct.pttl(key)) < 0) faults.push(`${key} has no end`);
      const [, runId] = /:run:([^:]+):segment:/.exec(key) ?? [];
      const isWhole = runId !== undefined && (await direct.hget(keys.run(runId), "state")) === "completed";
      if (isWhole) faults.push(`${key} is left of a run that is completed`);
      if (key.endsWith(":permits")) faults.push(...(await lastingPermits(() => direct.hgetall(key), key, restMs)));
    }
  } while (cursor !== "0");
  return faults;
}

/** Files that were being written when a process died: what a sink gets is a secret. */
export async function checkFiles({ disk }: Stage): Promise<string[]> {
  const expected = ["mqtt", "report.json", "after-run.json"];
  const found = (): string[] => readdirSync(join(disk.folder, "out")).filter((name) => !expected.includes(name));
  const first = found();
  if (first.length === 0) return [];
  // The schedule of reports may be writing one.
  await sleep(writingMs);
  return found()
    .filter((name) => first.includes(name))
    .map((name) => `${name} is left beside the files`);
}

/**
 * Permits of processes that were killed count until their lease ends; none may have been granted since. Those that a
 * process took ahead of its last calls are given back within moments.
 */
async function lastingPermits(read: () => Promise<Record<string, string>>, key: string, restMs: number) {
  const present = async (): Promise<string[]> =>
    Object.entries(await read()).flatMap(([id, endMs]) => (Number(endMs) - permitMs > restMs ? id : []));
  const first = await present();
  if (first.length === 0) return [];
  await sleep(writingMs);
  const still = await present();
  return first.filter((id) => still.includes(id)).map((id) => `${key} still has ${id}, granted after the faults`);
}

/** @param calmMegabytes memory of a worker after the same load without faults */
export function checkProcesses({ stations }: Stage, calmMegabytes = usualMegabytes): string[] {
  const faults: string[] = [];
  for (const { worker } of stations) {
    const { base } = worker;
    const now = worker.resources();
    const name = `worker ${worker.number}`;
    if (base === undefined || now === undefined) {
      faults.push(`${name} does not run`);
      continue;
    }
    if (now.fds > base.fds + moreFds) faults.push(`${name} has ${now.fds} open files, ${base.fds} at its start`);
    const max = 1.5 * calmMegabytes;
    if (now.megabytes > max) faults.push(`${name} takes ${Math.round(now.megabytes)} MB, more than ${Math.round(max)}`);
    for (const { code, signal, wasReady, lastLines } of worker.crashes) {
      // One that cannot start while Redis is away gives up, and its supervisor starts it again.
      const isExcused = !wasReady && lastLines.includes("STORE_UNAVAILABLE");
      if (!isExcused) faults.push(`${name} ended by itself with ${code ?? signal}: ${lastLines}`);
    }
  }
  return faults;
}

const alarming = /"INTERNAL"|[Uu]nhandled|[Uu]ncaught|TypeError|RangeError|ReferenceError|MaxListenersExceeded/;

export function checkLogs({ stations, sandbox }: Stage): string[] {
  const { credentials } = sandbox.state;
  const hidden = [
    ...Object.values(secrets),
    ...credentials.all.map(({ credentialsId }) => String(credentials.secretOf(credentialsId)?.key)),
  ];
  const faults: string[] = [];
  for (const { worker } of stations) {
    for (const line of worker.log.split("\n")) {
      if (line === "") continue;
      if (hidden.some((secret) => line.includes(secret)))
        faults.push(`worker ${worker.number} logged a secret: ${line}`);
      if (alarming.test(line)) faults.push(`worker ${worker.number} logged: ${line.slice(0, 600)}`);
      if (!line.startsWith("{")) faults.push(`worker ${worker.number} wrote beside its log: ${line.slice(0, 300)}`);
    }
  }
  return faults;
}
