/** `simfleet init`: what it writes is a valid configuration without a secret. */
import { readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { load } from "js-yaml";
import { runProgram } from "#cli/program.ts";
import { configText } from "#cli/commands/init.ts";
import { requirePlatform } from "#config/config.ts";
import { withPathsFrom } from "#config/read-settings.ts";
import { features } from "#features.ts";
import { type Ended, processIo } from "../../support/process-io.ts";
import { configSchema, loadConfig } from "../config/support.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const folder = temporaryFolder(afterAll);
await writeFile(join(folder, "auth-key"), "the-secret-itself\n", { mode: 0o600 });

async function init(...words: readonly string[]): Promise<Ended> {
  const { io, ended } = processIo();
  await runProgram(["init", ...words], { io, features });
  return ended;
}

const endpoint = "https://api.example.com";
const given = ["--endpoint", endpoint, "--auth-key-id", "keyId-1"];

describe("simfleet init", () => {
  test("writes a file that the configuration accepts, and says the next step", async () => {
    const file = join(folder, "sub", "simfleet.yaml");
    const keyFile = join(folder, "auth-key");
    const { code, stdout, stderr } = await init(...given, "--auth-key-file", keyFile, "--config", file);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain(`Wrote ${file}.`);
    expect(stdout.trimEnd().split("\n").at(-1)).toMatch(/^ {2}simfleet check --config /);
    const config = loadConfig({ file, env: {} });
    expect(requirePlatform(config)).toMatchObject({ authEndpoint: endpoint, coverage: "g" });
    expect(config.warnings).toEqual([]);
    expect(await readFile(file, "utf8")).not.toContain("the-secret-itself");
  });

  test("writes paths that are the options', whatever folder the file is in", async () => {
    const file = join(folder, "paths", "simfleet.yaml");
    expect((await init(...given, "--auth-key-file", "key", "--data-dir", "data", "--config", file)).code).toBe(0);
    expect(load(await readFile(file, "utf8"))).toMatchObject({
      dataDir: resolve("data"),
      profiles: { default: { credentials: { authKeyFile: resolve("key") } } },
    });
  });

  test("says how to make the file of the secret where it is not there", async () => {
    const file = join(folder, "a.yaml");
    const { stdout } = await init(...given, "--auth-key-file", join(folder, "none", "key"), "--config", file);
    expect(stdout).toContain(`(umask 077; cat > ${folder}/none/key)`);
  });

  test("takes the addresses and the coverage of a platform definition that has them", async () => {
    const file = join(folder, "soracom.yaml");
    const keyFile = join(folder, "auth-key");
    const words = ["--deployment", "soracom", "--coverage", "jp", "--auth-key-id", "keyId-1"];
    expect((await init(...words, "--auth-key-file", keyFile, "--config", file)).code).toBe(0);
    const config = loadConfig({ file, env: {} });
    expect(requirePlatform(config)).toMatchObject({ authEndpoint: "https://api.soracom.io", coverage: "jp" });
  });

  test("leaves an existing file as it is without --force", async () => {
    const file = join(folder, "existing.yaml");
    await writeFile(file, "deployment: svc\n");
    const refused = await init(...given, "--config", file);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("Add --force") });
    expect(await readFile(file, "utf8")).toBe("deployment: svc\n");
    expect((await init(...given, "--config", file, "--force")).code).toBe(0);
    expect(load(await readFile(file, "utf8"))).toMatchObject({ endpoints: { global: endpoint } });
  });

  test.each([
    ["a secret for an ID", ["--endpoint", endpoint, "--auth-key-id", "secret-abc"], "A secret belongs in a file"],
    ["a secret for a file", [...given, "--auth-key-file", "secret-abc"], "A secret belongs in a file"],
    ["a password in an address", [...given, "--redis-url", "redis://u:pw@127.0.0.1"], "no user or password"],
    ["a missing address", ["--auth-key-id", "keyId-1"], "--endpoint is required"],
    ["a missing ID", ["--endpoint", endpoint], "--auth-key-id is required"],
    ["an address without https", ["--endpoint", "http://api.example.com", "--auth-key-id", "k"], "endpoints.global"],
    ["an unknown definition", ["--deployment", "svx", "--auth-key-id", "k"], "There is no platform definition svx"],
    ["a shell's ~", [...given, "--auth-key-file", "~/key"], "authKeyFile"],
  ])("refuses %s and writes nothing", async (_, words, message) => {
    const file = join(folder, "refused.yaml");
    const refused = { code: 2, stdout: "", stderr: expect.stringContaining(message) as string };
    expect(await init(...words, "--config", file)).toEqual(refused);
    await expect(readFile(file)).rejects.toThrow("ENOENT");
  });
});

test("every key of the file, also those in comments, is one of the configuration", () => {
  const answers = { deployment: "svc", authKeyId: "keyId-1", authKeyFile: "key" };
  const none = { endpoint: undefined, coverage: undefined, redisUrl: undefined, dataDir: undefined };
  const all = { endpoint, coverage: "g", redisUrl: "redis://127.0.0.1:6379", dataDir: "data" };
  for (const more of [none, all]) {
    const text = configText({ ...answers, ...more });
    const uncommented = text.replaceAll(/^( *)# ( *[A-Za-z][\w-]*:)(?= |$)/gm, "$1$2");
    expect(uncommented.match(/^#.*:$/gm)).toBeNull();
    const tree = withPathsFrom("/", load(uncommented), undefined) as Record<string, unknown>;
    expect(Object.keys(tree)).toEqual(
      expect.arrayContaining(["schedules", "automations", "webhooks", "changes", "redis"]),
    );
    expect(configSchema.safeParse(tree).error?.issues).toBeUndefined();
  }
});
