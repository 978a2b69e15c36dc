/** compose.yaml as a first user takes it: the lines of docs/deploy.md, in a folder of a user who is not root. */
import { spawnSync } from "node:child_process";
import { chownSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { root } from "../e2e/support/built-cli.ts";
import { isRoot } from "../support/left-out.ts";
import { isLong } from "../support/long.ts";
import { until } from "../support/until.ts";
import { withoutEngine } from "./support/fleet.ts";

const user = isRoot ? 1_234 : (process.getuid?.() ?? 0);
const programs = [["docker", "compose"], ["docker-compose"]] as const;
const program = isLong
  ? programs.find(([name, ...args]) => spawnSync(name, [...args, "version"]).status === 0)
  : undefined;
const reason = isLong ? ((await withoutEngine()) ?? (program ? undefined : "no docker-compose")) : "a long test";

/** A folder with the files of a first user, and the lines that docs/deploy.md gives for its secrets. */
function setup() {
  const folder = mkdtempSync(join(tmpdir(), "simfleet-compose-"));
  chownSync(folder, user, user);
  const platform = { SIMFLEET_ENDPOINT_GLOBAL: "https://platform.example", SIMFLEET_AUTH_KEY_ID: "keyId-1" };
  const env = { ...process.env, ...platform, AUTH_KEY: "secret", SIMFLEET_HTTP_PORT: "0" };
  const shell = (line: string, as: { uid?: number; gid?: number } = {}) =>
    spawnSync("sh", ["-ec", line], { cwd: folder, env, encoding: "utf8", ...as });
  const compose = (args: string) => shell(`${program?.join(" ")} ${args}`);
  onTestFinished(() => {
    compose("down --volumes");
    rmSync(folder, { recursive: true, force: true });
  });
  cpSync(join(root, "compose.yaml"), join(folder, "compose.yaml"));
  mkdirSync(join(folder, "deploy"));
  cpSync(join(root, "deploy/compose"), join(folder, "deploy/compose"), { recursive: true });
  const [, lines = ""] =
    /```sh\n(mkdir -p -m 700 secrets[^`]*?)\n[^\n]* docker compose up/.exec(
      readFileSync(join(root, "docs/deploy.md"), "utf8"),
    ) ?? [];
  return { shell, compose, lines };
}

describe.skipIf(reason)(`compose.yaml${reason === undefined ? "" : ` (skipped: ${reason})`}`, () => {
  test("compose.yaml brings up a worker that works for the user of .env, with settings and secrets that it may replace", async () => {
    const { shell, compose, lines } = setup();
    expect(lines.split("\n")).toHaveLength(4);
    expect(shell(lines, { uid: user, gid: user })).toMatchObject({ status: 0, stderr: "" });
    expect(compose("up -d redis worker")).toMatchObject({ status: 0 });
    const inWorker = (line: string) => compose(`exec -T worker ${line}`);
    await until("the worker is ready", () => inWorker("simfleet schedules list").stdout.includes("nightly-sync"));
    expect(inWorker("id -u").stdout.trim()).toBe(String(user));
    expect(inWorker("simfleet check").stdout).toMatch(/^ok +drop folder +\/fleet\/in$/m);
    const renamed = inWorker(
      `sh -c "cp /run/secrets/auth-key /run/secrets/new && mv /run/secrets/new /run/secrets/auth-key"`,
    );
    expect(renamed).toMatchObject({ status: 0 });
  });
});
