// Builds an image from nothing but this Node, the libraries that it loads, and the built program, and starts it: for hosts
// without a container engine or without access to a registry. Needs root, Linux and buildah (Debian: apt-get install
// buildah). `npm run container:scratch [FILE]` writes an OCI archive to FILE, if it is given.
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, statSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const project = join(dirname(fileURLToPath(import.meta.url)), "..");
const { version } = JSON.parse(readFileSync(join(project, "package.json"), "utf8"));
const user = "10001:10001";
const folder = mkdtempSync(join(tmpdir(), "simfleet-image-"));
// Neither needs a mount or a user namespace, which a container or a build machine may not allow.
const storage = ["--storage-driver", "vfs", "--root", join(folder, "root"), "--runroot", join(folder, "run")];
const archive = resolve(process.argv[2] ?? join(folder, "simfleet.tar"));
try {
  const files = join(folder, "files");
  copy(realpathSync(process.execPath), join(files, "usr/local/bin/node"));
  for (const library of librariesOf(process.execPath)) copy(realpathSync(library), join(files, library));
  for (const part of ["dist", "config", "package.json", "LICENSE"]) copy(join(project, part), join(files, "app", part));
  symlinkSync("/app/dist/cli.js", join(files, "usr/local/bin/simfleet"));
  copy("/usr/bin/env", join(files, "usr/bin/env"));
  for (const name of ["data", "tmp"]) mkdirSync(join(files, name), { recursive: true });

  const container = buildah("from", "scratch");
  buildah("copy", container, files, "/");
  const own = `fs.chmodSync("/data", 0o700); fs.chownSync("/data", ${user.replace(":", ", ")}); fs.chmodSync("/tmp", 0o1777)`;
  buildah("run", "--isolation", "chroot", container, "--", "node", "-e", own);
  buildah("config", "--user", user, "--workingdir", "/app", "--port", "8080", "--volume", "/data", container);
  buildah("config", "--env", "PATH=/usr/local/bin:/usr/bin", "--env", "NODE_ENV=production", container);
  buildah("config", "--env", "SIMFLEET_DATA_DIR=/data", "--env", "HOME=/data", container);
  buildah("config", "--cmd", '["node","/app/dist/worker.js"]', "--stop-signal", "SIGTERM", container);
  buildah("config", "--label", `org.opencontainers.image.version=${version}`, container);
  const said = buildah("run", "--isolation", "chroot", container, "--", "simfleet", "--version");
  if (said !== version) throw new Error(`The image says that its version is ${said}, package.json ${version}.`);
  const id = 'fs.writeFileSync("/data/test", ""); fs.rmSync("/data/test"); console.log(process.getuid())';
  const uid = buildah("run", "--isolation", "chroot", container, "--", "node", "-e", id);
  if (uid !== user.split(":")[0]) throw new Error(`The image runs as user ${uid}.`);
  const image = buildah("commit", "--quiet", container, `simfleet:${version}`);
  buildah("push", "--quiet", image, `oci-archive:${archive}`);
  const megabytes = (statSync(archive).size / 1e6).toFixed(0);
  console.log(`The image works: simfleet ${said}, user ${uid}, ${megabytes} MB as an OCI archive.`);
} finally {
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
}

/** The shared libraries that a program loads, with its loader. */
function librariesOf(program) {
  return run("ldd", [program]).match(/\/\S+(?= \(0x)/g) ?? [];
}

function copy(from, to) {
  mkdirSync(dirname(to), { recursive: true });
  cpSync(from, to, { recursive: true, dereference: true });
}

function buildah(...args) {
  return run("buildah", [...storage, ...args]);
}

function run(command, args) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} failed: ${error?.message ?? stderr}`);
  return stdout.trim();
}
