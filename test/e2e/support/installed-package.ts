/** The package as a user gets it: packed from dist/ and installed once for all tests. */
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inject } from "vitest";
import { builtCli, madeOnce, root } from "./built-cli.ts";

interface Packed {
  readonly filename: string;
  readonly version: string;
  readonly files: readonly { readonly path: string }[];
}

/**
 * @returns the folder, which other users may read; what was packed; and the folder for the PATH of every user, in which
 * `simfleet` is the installed command
 */
export async function installPackage(): Promise<{ folder: string; packed: Packed; bin: string }> {
  await builtCli(); // builds dist/ if the sources are newer
  const folder = await madeOnce(inject("installedPackage"), (place) => {
    mkdirSync(join(place, "bin"), { recursive: true });
    const report = npm(["pack", "--ignore-scripts", "--json", "--pack-destination", place], root);
    writeFileSync(join(place, "packed.json"), report);
    const [{ filename }] = JSON.parse(report) as [Packed];
    npm(["install", "--global", "--prefix", join(place, "global"), "--offline", join(place, filename)], place);
    cpSync(process.execPath, join(place, "node")); // which other users may start
    const command = 'exec "$(dirname "$0")/../node" "$(dirname "$0")/../global/bin/simfleet" "$@"';
    writeFileSync(join(place, "bin", "simfleet"), `#!/bin/sh\n${command}\n`, { mode: 0o755 });
  });
  const [packed] = JSON.parse(readFileSync(join(folder, "packed.json"), "utf8")) as [Packed];
  return { folder, packed, bin: join(folder, "bin") };
}

function npm(args: readonly string[], cwd: string): string {
  return run("npm", [...args, "--no-audit", "--no-fund"], { cwd, env: process.env });
}

function run(command: string, args: readonly string[], options: { cwd: string; env: NodeJS.ProcessEnv }): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: "utf8", ...options });
  if (status !== 0) throw new Error(`${command} ${args[0]}: ${error?.message ?? stdout + stderr}`);
  return stdout;
}
