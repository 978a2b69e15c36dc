// Checks the types of src/, bundles it into dist/ with the packages it uses, copies other files (Lua and shell scripts)
// to the same locations, and bundles the dashboard of web/ into dist/web. A failed build leaves the previous dist/
// unchanged, so that a running checkout keeps its commands.
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, gzipSync } from "node:zlib";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const compiler = join(root, "node_modules", "typescript", "bin", "tsc");
if (!existsSync(compiler)) {
  // A production install has no compiler: the previous stage built dist/.
  console.log("no compiler installed: dist/ is left as it is");
  process.exit(0);
}
const fresh = join(root, "dist.new");
rmSync(fresh, { recursive: true, force: true });
const checked = spawnSync(process.execPath, [compiler, "-p", "tsconfig.build.json"], { cwd: root, stdio: "inherit" });
if (checked.status !== 0) process.exit(checked.status ?? 1);
// Vite depends on it, and a test runner sets it to another value: the output must not depend on the caller.
process.env.NODE_ENV = "production";
const [{ build }, { dashboard }, { program }, { writeThirdParty }] = await Promise.all([
  import("vite"),
  import("./dashboard.mjs"),
  import("./program.mjs"),
  import("./third-party.mjs"),
]);
const packages = join(root, "node_modules");
/** Pages that bundled packages bring. */
const pages = [{ of: "@fastify/swagger-ui", from: "@fastify/swagger-ui/static", to: "api-page/static" }];
const bundles = [fresh];
try {
  await build({ ...program, build: { ...program.build, outDir: fresh }, logLevel: "warn" });
  for (const file of globSync("src/**/*.{lua,sh}", { cwd: root })) {
    const target = join(fresh, file.slice("src/".length));
    mkdirSync(dirname(target), { recursive: true });
    cpSync(join(root, file), target);
  }
  for (const { from, to } of pages) cpSync(join(packages, from), join(fresh, to), { recursive: true });
  // For editors.
  writeOutput(["schema"], "simfleet.schema.json");
  // Without its sources, as in a check of the rest alone, the worker reports that there is no dashboard.
  if (existsSync(join(root, "web"))) {
    await build({ ...dashboard, build: { ...dashboard.build, outDir: join(fresh, "web") }, logLevel: "warn" });
    compressAssets(join(fresh, "web", "assets"));
    bundles.push(join(fresh, "web"));
  }
  writeThirdParty(fresh, { bundles, copied: pages.map((page) => page.of), packages });
} catch (thrown) {
  rmSync(fresh, { recursive: true, force: true });
  throw thrown;
}

/** Writes what a command of the new build prints. */
function writeOutput(words, name) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(fresh, "cli.js"), ...words], {
    encoding: "utf8",
    env: { ...process.env, NODE_DISABLE_COMPILE_CACHE: "1" },
  });
  if (status !== 0) throw new Error(`simfleet ${words.join(" ")} failed:\n${stderr}`);
  writeFileSync(join(fresh, name), stdout);
}

/** Compressed once here, so that the worker sends a file as it is; it picks one by the request's Accept-Encoding. */
function compressAssets(folder) {
  for (const name of readdirSync(folder)) {
    const content = readFileSync(join(folder, name));
    writeFileSync(join(folder, `${name}.gz`), gzipSync(content, { level: 9 }));
    writeFileSync(join(folder, `${name}.br`), brotliCompressSync(content));
  }
}

const dist = join(root, "dist");
rmSync(dist, { recursive: true, force: true });
renameSync(fresh, dist);
for (const entry of ["cli.js", "worker.js"]) chmodSync(join(dist, entry), 0o755);
