/** The commands of docs/tutorial.md, run to the letter in an empty folder, with what the page says that they print. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { isLong } from "../support/long.ts";
import { builtCli } from "./support/built-cli.ts";
import { freePort } from "./support/redis-server.ts";

const longestMs = 480_000;
vi.setConfig({ testTimeout: longestMs + 60_000 });

interface Step {
  readonly commands: string;
  /** Lines that the commands print, in this order, others between them; `…` stands for any text. */
  readonly expected: readonly string[];
}

function stepsOf(page: string): Step[] {
  const blocks = page.matchAll(/^```sh\n([\s\S]*?)^```$(?:\n\n^```text\n([\s\S]*?)^```$)?/gm);
  return [...blocks].map(([, commands = "", shown = ""]) => ({
    commands,
    expected: shown.split("\n").filter((line) => line !== ""),
  }));
}

/** Ports of the page, which may be taken on this machine, by free ones. */
async function withFreePorts(page: string): Promise<string> {
  let text = page;
  for (const port of ["8787", "9099"]) text = text.replaceAll(port, String(await freePort()));
  return text;
}

/** The output of each step. */
async function run(steps: readonly Step[], folder: string): Promise<string[]> {
  const bin = join(folder, ".bin");
  await mkdir(bin);
  const { path, compileCache } = await builtCli();
  await writeFile(join(bin, "simfleet"), `#!/bin/sh\nexec '${process.execPath}' '${path}' "$@"\n`);
  await chmod(join(bin, "simfleet"), 0o755);
  // Job control as on a terminal: each background command is a job of its own.
  const onFailure = "trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n";
  const script = steps.map(({ commands }, n) => `exec > '${folder}/.out-${n}' 2>&1\n${commands}`).join("\n");
  const shell = spawn("/bin/bash", ["-m", "-e", "-c", `${onFailure}${script}`], {
    cwd: folder,
    detached: true,
    stdio: "ignore",
    env: {
      PATH: [bin, join(process.execPath, ".."), process.env.PATH].join(delimiter),
      HOME: folder,
      XDG_CACHE_HOME: process.env.XDG_CACHE_HOME || join(homedir(), ".cache"),
      NODE_COMPILE_CACHE: compileCache,
      SIMFLEET_HTTP_PORT: "0",
    },
  });
  const timer = setTimeout(() => shell.kill("SIGTERM"), longestMs);
  const [code] = (await once(shell, "close")) as [number | null];
  clearTimeout(timer);
  const outputs = await Promise.all(
    steps.map((_, n) => readFile(join(folder, `.out-${n}`), "utf8").catch(() => "(not reached)")),
  );
  expect({ code, outputs }).toMatchObject({ code: 0 });
  return outputs;
}

/** The expected lines that are missing, each looked for behind the one before. */
function missingIn(output: string, expected: readonly string[]): string[] {
  let rest = output;
  return expected.filter((line) => {
    const parts = line
      .split("…")
      .map((text) => text.replaceAll(/[$()*+.?[\\\]^{|}]/g, "\\$&").replaceAll(/ {2,}/g, " +"));
    const found = new RegExp(`^${parts.join(".*")}`, "m").exec(rest);
    if (found !== null) rest = rest.slice(found.index + found[0].length);
    return found === null;
  });
}

test.skipIf(!isLong)(
  "every command of the tutorial runs in an empty folder and prints what the page says",
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "tutorial-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }));
    const page = await withFreePorts(await readFile("docs/tutorial.md", "utf8"));
    const steps = stepsOf(page);
    expect(steps.length).toBeGreaterThan(12);
    const outputs = await run(steps, folder);
    const missing = steps.flatMap(({ expected }, n) =>
      missingIn(outputs[n] ?? "", expected).map((line) => ({ line, output: outputs[n] })),
    );
    expect(missing).toEqual([]);
  },
);
