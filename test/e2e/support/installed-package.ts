/** The package as a user gets it: packed from dist/ and installed once for the tests of a file. */
import { spawnSync } from "node:child_process";
import { chmod, cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { builtCli, root } from "./built-cli.ts";

interface Packed {
  readonly filename: string;
  readonly version: string;
  readonly files: readonly { readonly path: string }[];
}

export interface InstalledPackage {
  /** Other users may read it. */
  readonly folder: string;
  readonly tarball: string;
  readonly packed: Packed;
  /** For the PATH of every user: `simfleet` is the installed command. */
  readonly bin: string;
  remove(): Promise<void>;
}

export async function installPackage(): Promise<InstalledPackage> {
  await builtCli(); // builds dist/ if the sources are newer
  const folder = await mkdtemp(join(tmpdir(), "simfleet-package-"));
  await chmod(folder, 0o755);
  const report = npm(["pack", "--ignore-scripts", "--json", "--pack-destination", folder], root);
  const packed = (JSON.parse(report) as [Packed])[0];
  const tarball = join(folder, packed.filename);
  npm(["install", "--global", "--prefix", join(folder, "global"), "--offline", tarball], folder);
  const bin = join(folder, "bin");
  await mkdir(bin);
  await cp(process.execPath, join(folder, "node")); // which other users may start
  const command = `exec ${folder}/node ${folder}/global/bin/simfleet "$@"`;
  await writeFile(join(bin, "simfleet"), `#!/bin/sh\n${command}\n`, { mode: 0o755 });
  return {
    folder,
    tarball,
    packed,
    bin,
    remove: () => rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }),
  };
}

function npm(args: readonly string[], cwd: string): string {
  return run("npm", [...args, "--no-audit", "--no-fund"], { cwd, env: process.env });
}

function run(command: string, args: readonly string[], options: { cwd: string; env: NodeJS.ProcessEnv }): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: "utf8", ...options });
  if (status !== 0) throw new Error(`${command} ${args[0]}: ${error?.message ?? stdout + stderr}`);
  return stdout;
}
