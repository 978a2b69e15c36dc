// Compiles src/ to dist/, copies other files (Lua and shell scripts) to the same locations, and bundles the dashboard
// of web/ into dist/web. A failed compilation leaves the previous dist/ unchanged, so that a running checkout keeps its
// commands.
import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, globSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const compiler = join(root, "node_modules", "typescript", "bin", "tsc");
if (!existsSync(compiler)) {
  // A production install has no compiler: the previous stage built dist/.
  console.log("no compiler installed: dist/ is left as it is");
  process.exit(0);
}
const fresh = join(root, "dist.new");
rmSync(fresh, { recursive: true, force: true });
const compiled = spawnSync(process.execPath, [compiler, "-p", "tsconfig.build.json", "--outDir", fresh], {
  cwd: root,
  stdio: "inherit",
});
if (compiled.status !== 0) {
  rmSync(fresh, { recursive: true, force: true });
  process.exit(compiled.status ?? 1);
}
for (const file of globSync("src/**/*.{lua,sh}", { cwd: root })) {
  const target = join(fresh, file.slice("src/".length));
  mkdirSync(dirname(target), { recursive: true });
  cpSync(join(root, file), target);
}
try {
  await buildDashboard(join(fresh, "web"));
} catch (thrown) {
  rmSync(fresh, { recursive: true, force: true });
  throw thrown;
}
const dist = join(root, "dist");
rmSync(dist, { recursive: true, force: true });
renameSync(fresh, dist);
for (const entry of ["cli.js", "worker.js"]) {
  if (existsSync(join(dist, entry))) chmodSync(join(dist, entry), 0o755);
}

/** Without Vite or the sources, as in a check of the rest alone, the worker reports that there is no dashboard. */
async function buildDashboard(outDir) {
  if (!existsSync(join(root, "web")) || !existsSync(join(root, "node_modules", "vite"))) {
    console.log("no Vite installed or no web/ here: the dashboard is left out");
    return;
  }
  // Vite depends on it, and a test runner sets it to another value: the output must not depend on the caller.
  process.env.NODE_ENV = "production";
  const [{ build }, { dashboard }] = await Promise.all([import("vite"), import("./dashboard.mjs")]);
  await build({ ...dashboard, build: { ...dashboard.build, outDir }, logLevel: "warn" });
}
