// Verifies that the image would work, without a container engine: builds the program with the files that the Dockerfile
// copies, puts together the same folder, makes it read-only, and starts the worker and the gateway in it, as the image's user
// if root runs this. `npm run container:check`.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chownSync, cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const project = join(dirname(fileURLToPath(import.meta.url)), "..");
const stages = readFileSync(join(project, "Dockerfile"), "utf8")
  .split(/^FROM /m)
  .slice(1);
const user = Number(/^USER (\d+):/m.exec(stages.at(-1))?.[1]);
const isRoot = process.getuid() === 0;

const folder = mkdtempSync(join(tmpdir(), "simfleet-production-"));
try {
  const build = join(folder, "build");
  copySources(stages[0], build);
  symlinkSync(join(project, "node_modules"), join(build, "node_modules"));
  run("the build", [process.execPath, "scripts/build.mjs"], { cwd: build });

  const tree = join(folder, "app");
  copySources(stages.at(-1), tree);
  cpSync(join(build, "dist"), join(tree, "dist"), { recursive: true });
  const assets = globSync("**/*.*", { cwd: join(project, "src") }).filter((path) => !path.endsWith(".ts"));
  const missing = [...assets, "web/index.html"].filter((path) => !globSync(path, { cwd: join(tree, "dist") }).length);
  if (missing.length > 0) throw new Error(`The build left out ${missing.join(", ")}.`);

  const node = join(folder, "node");
  cpSync(process.execPath, node);
  run("chmod", ["chmod", "-R", "a+rX,a-w", tree, node]);
  run("chmod", ["chmod", "755", folder]);
  const version = run("simfleet --version", [node, "dist/cli.js", "--version"], { cwd: tree, env: {} }).trim();
  const expected = JSON.parse(readFileSync(join(project, "package.json"), "utf8")).version;
  if (version !== expected) throw new Error(`--version says ${version}, package.json ${expected}.`);
  const data = join(folder, "data");
  mkdirSync(data, { mode: 0o700 });
  if (isRoot) chownSync(data, user, user);
  await start([node, "dist/worker.js"], "SIMFLEET_HTTP_PORT", { tree, data });
  await start([node, "dist/cli.js", "gateway"], "SIMFLEET_GATEWAY_PORT", { tree, data });
  console.log(`The production tree works: simfleet ${version}${isRoot ? `, user ${user}` : ""}, read-only folder.`);
} finally {
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
}

/** What a stage of the Dockerfile copies from the project. */
function copySources(stage, target) {
  for (const [, words] of stage.matchAll(/^COPY (?!--)(.+)$/gm)) {
    const [to, ...from] = words.split(" ").toReversed();
    for (const path of from) {
      const place = join(target, to === "./" || to.endsWith("/") ? path : to);
      mkdirSync(dirname(place), { recursive: true });
      cpSync(join(project, path), place, { recursive: true });
    }
  }
}

/** Starts a command of the image, waits until it answers at the port that a variable gives it, and stops it. */
async function start([node, ...args], portVariable, { tree, data }) {
  const port = await freePort();
  const started = spawn(node, args, {
    cwd: tree,
    ...(isRoot ? { uid: user, gid: user } : {}),
    env: {
      NODE_ENV: "production",
      PATH: process.env.PATH,
      SIMFLEET_DATA_DIR: data,
      [portVariable]: String(port),
      SIMFLEET_REDIS_URL: process.env.SIMFLEET_REDIS_URL ?? "",
      SIMFLEET_ENDPOINT_GLOBAL: "http://127.0.0.1:9",
      SIMFLEET_AUTH_KEY_ID: "keyId-none",
      SIMFLEET_AUTH_KEY: "secret-none",
    },
  });
  let log = "";
  started.stdout.on("data", (chunk) => (log += chunk));
  started.stderr.on("data", (chunk) => (log += chunk));
  const ended = once(started, "close");
  try {
    for (let attempt = 0; ; attempt += 1) {
      const answer = await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => undefined);
      if (answer?.ok) break;
      if (attempt === 300 || started.exitCode !== null) throw new Error(`${args.join(" ")} did not start:\n${log}`);
      await sleep(100);
    }
  } finally {
    started.kill("SIGTERM");
    await ended;
  }
}

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

function run(what, [command, ...args], options) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: "utf8", ...options });
  if (status !== 0) throw new Error(`${what} failed: ${error?.message ?? (stderr || stdout)}`);
  return stdout;
}
