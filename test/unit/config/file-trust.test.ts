/** Which configuration files are used as they lie there, and which are rejected with a hint. */
import { chmodSync, chownSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { isRoot, unlessRoot } from "../../support/left-out.ts";
import { loadConfig, problemsIn } from "./support.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const file = "config/simfleet.yaml";
let folder: string;
let before: string;
beforeEach(() => {
  before = process.cwd();
  folder = temporaryFolder();
  mkdirSync(join(folder, "config"));
  process.chdir(folder);
});
afterEach(() => process.chdir(before));

function write(yaml: string, mode = 0o600): void {
  writeFileSync(file, yaml);
  chmodSync(file, mode);
}

const problemsOf = (from: { file?: string; env?: Record<string, string> }): string[] =>
  problemsIn(() => loadConfig({ env: {}, ...from }));

const key = { SIMFLEET_AUTH_KEY_ID: "keyId-1", SIMFLEET_AUTH_KEY: "secret-1" };

describe("a config file found in the working folder", () => {
  const stolen: [yaml: string, env: Record<string, string>, where: string, variable: string][] = [
    ["endpoints: { global: https://evil.example }", key, "endpoints.global", "SIMFLEET_AUTH_KEY"],
    ["endpoints: { japan: https://evil.example }", key, "endpoints.japan", "SIMFLEET_AUTH_KEY"],
    [
      "redis: { url: rediss://evil.example }",
      { SIMFLEET_REDIS_PASSWORD: "pw-of-redis" },
      "redis.url",
      "SIMFLEET_REDIS_PASSWORD",
    ],
    [
      "server: { url: https://evil.example }",
      { SIMFLEET_SERVER_TOKEN: "token-1" },
      "server.url",
      "SIMFLEET_SERVER_TOKEN",
    ],
  ];

  it.each(stolen)(
    "a config file found in the working folder cannot choose the destination of secrets from the environment: %s",
    (yaml, env, where, variable) => {
      write(yaml);
      expect(problemsOf({ env })).toEqual([
        expect.stringMatching(
          new RegExp(
            `^${where}: is set by ${file}, which was found in the working folder, and decides where ${variable} is sent\\. Name it with --config`,
          ),
        ),
      ]);
      expect(problemsOf({ env, file })).toEqual([]);
      expect(problemsOf({ env: { ...env, SIMFLEET_CONFIG: file } })).toEqual([]);
    },
  );

  it("a config file found in the working folder can name only a built-in definition for secrets of the environment", () => {
    write("deployment: ./evil.yaml");
    expect(problemsOf({ env: key })[0]).toMatch(/^deployment: is set by config\/simfleet\.yaml/);
    write("deployment: soracom");
    expect(problemsOf({ env: key })).toEqual([]);
  });

  it("a config file found in the working folder can set anything if it also has the secrets or the environment sets the endpoint", () => {
    writeFileSync("auth-key", "secret-1", { mode: 0o600 });
    write(
      "endpoints: { global: https://x.example }\nprofiles: { default: { credentials: { authKeyId: k, authKeyFile: ../auth-key } } }",
    );
    expect(problemsOf({})).toEqual([]);
    write("endpoints: { global: https://evil.example }");
    expect(problemsOf({ env: { ...key, SIMFLEET_ENDPOINT_GLOBAL: "https://x.example" } })).toEqual([]);
    write("logLevel: warn");
    expect(problemsOf({ env: key })).toEqual([]);
  });

  it.runIf(isRoot)(
    `a config file of another user is refused when found in the working folder and accepted when named${unlessRoot}`,
    () => {
      write("logLevel: warn");
      chownSync(file, 12_345, 12_345);
      expect(problemsOf({})).toEqual([
        expect.stringMatching(
          /^config\/simfleet\.yaml: belongs to another user \(ID 12345\) and was found in the working/,
        ),
      ]);
      expect(problemsOf({ file })).toEqual([]);
    },
  );
});

// Shows S2.
describe("a config file with secrets", () => {
  const secrets: [yaml: string, where: string][] = [
    [
      "profiles: { default: { credentials: { authKeyId: k, authKey: hunter2-secret } } }",
      "profiles.default.credentials.authKey",
    ],
    [
      "profiles: { plant: { credentials: { email: a@b, password: hunter2-secret } } }",
      "profiles.plant.credentials.password",
    ],
    ["redis: { url: 'redis://:hunter2-secret@localhost' }", "redis.url"],
    ["redis: { url: 'redis://localhost', password: hunter2-secret }", "redis.password"],
    ["server: { url: https://x.example, token: hunter2-secret }", "server.token"],
    [
      "webhooks: { ops: { url: 'https://x.example', secret: whsec_aHVudGVyMi1zZWNyZXQtaHVudGVyMi1zZWNyZXQ=, events: ['*'] } }",
      "webhooks.ops.secret",
    ],
  ];

  it.each(secrets)("a config file with a secret that others can read is refused with the fix: %s", (yaml, where) => {
    for (const mode of [0o644, 0o640, 0o604]) {
      write(yaml, mode);
      const octal = mode.toString(8).padStart(4, "0");
      const problems = problemsOf({ file });
      expect(problems).toContain(
        `${file}: contains a secret (${where}) and can be read by others (mode ${octal}). Fix it with: chmod 600 ${file}, or keep the secret in a file of its own.`,
      );
      expect(problems.join("")).not.toContain("hunter2");
    }
    write(yaml, 0o600);
    expect(problemsOf({ file }).join("")).not.toContain("can be read by others");
  });

  it("a config file that only names secret files may be readable by others", () => {
    writeFileSync("auth-key", "secret-1", { mode: 0o600 });
    write("profiles: { default: { credentials: { authKeyId: k, authKeyFile: ../auth-key } } }", 0o644);
    expect(problemsOf({ file })).toEqual([]);
  });
});
