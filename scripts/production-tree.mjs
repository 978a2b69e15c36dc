// Verifies that the files the Dockerfile puts into the image work: builds the same tree in a temporary folder, with the
// install command from the Dockerfile, and runs it as the image would. Needs no container engine. `npm run
// container:check`.
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const project = join(dirname(fileURLToPath(import.meta.url)), "..");
const manifest = JSON.parse(readFileSync(join(project, "package.json"), "utf8"));
const installLine = /^RUN (\["npm", "ci", .*"--omit=dev".*\])$/m.exec(
  readFileSync(join(project, "Dockerfile"), "utf8"),
);
if (installLine === null) throw new Error('The Dockerfile has no line RUN ["npm", "ci", … "--omit=dev" …].');

const folder = mkdtempSync(join(tmpdir(), "simfleet-production-"));
try {
  const build = join(folder, "build");
  const sources = [
    "package.json",
    "tsconfig.json",
    "tsconfig.build.json",
    "scripts/build.mjs",
    "scripts/dashboard.mjs",
    "scripts/program.mjs",
  ];
  copy([...sources, "web", "src"], build);
  symlinkSync(join(project, "node_modules"), join(build, "node_modules"));
  run("the build", [process.execPath, "scripts/build.mjs"], { cwd: build });

  const tree = join(folder, "app");
  copy(["package.json", "package-lock.json", ".npmrc", "config"], tree);
  run("the install", JSON.parse(installLine[1]), { cwd: tree });
  cpSync(join(build, "dist"), join(tree, "dist"), { recursive: true });
  examine(tree);

  const bare = { cwd: tree, env: { NODE_ENV: "production" } };
  const version = run("simfleet --version", [process.execPath, "dist/cli.js", "--version"], bare).trim();
  if (version !== manifest.version) throw new Error(`--version says ${version}, package.json ${manifest.version}.`);
  run("simfleet worker --help", [process.execPath, "dist/cli.js", "worker", "--help"], bare);
  const packages = globSync("node_modules/{@*/*,[!@.]*}", { cwd: tree }).length;
  console.log(`The production tree works: simfleet ${version}, ${packages} packages.`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function copy(paths, target) {
  for (const path of paths) {
    mkdirSync(dirname(join(target, path)), { recursive: true });
    cpSync(join(project, path), join(target, path), { recursive: true });
  }
}

/** Files that must and must not exist. */
function examine(tree) {
  const unwanted = [...Object.keys(manifest.devDependencies), ...Object.keys(manifest.optionalDependencies ?? {})];
  const stray = unwanted.filter((name) => existsSync(join(tree, "node_modules", name)));
  if (stray.length > 0) throw new Error(`Not for production, and there: ${stray.join(", ")}.`);
  const assets = globSync("**/*.*", { cwd: join(project, "src") }).filter((path) => !path.endsWith(".ts"));
  const missing = [...assets, "web/index.html"].filter((path) => !existsSync(join(tree, "dist", path)));
  if (missing.length > 0) throw new Error(`The build left out ${missing.join(", ")}.`);
}

function run(what, [command, ...args], options) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: "utf8", ...options });
  if (status !== 0) throw new Error(`${what} failed: ${error?.message ?? (stderr || stdout)}`);
  return stdout;
}
