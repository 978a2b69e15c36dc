// Measures what `npm install -g simfleet` puts on a machine: packs the built program, installs the tarball into an
// empty folder, and prints the sizes. `npm run size`.
import { spawnSync } from "node:child_process";
import { globSync, lstatSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const folder = mkdtempSync(join(tmpdir(), "simfleet-size-"));
try {
  const [packed] = JSON.parse(npm(["pack", "--ignore-scripts", "--json", "--pack-destination", folder]));
  npm(["install", "--global", "--prefix", folder, "--no-audit", "--no-fund", join(folder, packed.filename)]);
  const installed = join(folder, "lib", "node_modules");
  const files = globSync("**", { cwd: installed, withFileTypes: true }).filter((entry) => entry.isFile());
  const bytes = files.reduce((sum, { parentPath, name }) => sum + lstatSync(join(parentPath, name)).size, 0);
  const packages = globSync("**/node_modules/{@*/*,[!@.]*}/package.json", { cwd: folder }).length;
  console.log(`tarball    ${megabytes(packed.size)}`);
  console.log(`installed  ${megabytes(bytes)} in ${files.length} files, packages: ${packages}`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function megabytes(bytes) {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

function npm(args) {
  const { status, stdout, stderr, error } = spawnSync("npm", args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`npm ${args[0]} failed: ${error?.message ?? stderr}`);
  return stdout;
}
