/** What the tests of the tooling share: a folder of files, and a script or tool run over it. */
import { spawn } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { temporaryFolder } from "../../support/temporary-folder.ts";

export const projectDir = fileURLToPath(new URL("../../..", import.meta.url));

/** Writes `files` (path to text) into a new folder that goes away with the test. */
export async function folderOf(files: Record<string, string>): Promise<string> {
  const folder = temporaryFolder();
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  return folder;
}

/** Runs a Node script to its end; a path is relative to the project. */
export async function runScript(script: string, args: readonly string[], cwd = projectDir): Promise<ScriptEnd> {
  const child = spawn(process.execPath, [join(projectDir, script), ...args], {
    cwd,
    stdio: ["ignore", "pipe", "pipe"],
    // As `npm run` has it: some tools find their other halves there.
    env: { ...process.env, PATH: [join(projectDir, "node_modules", ".bin"), process.env.PATH].join(delimiter) },
  });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const code = await new Promise<number | null>((resolve, reject) => child.on("close", resolve).on("error", reject));
  return { code, output };
}

export interface ScriptEnd {
  readonly code: number | null;
  /** What it wrote on stdout and stderr. */
  readonly output: string;
}
