import { spawn } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { sandboxCommand } from "#cli/commands/sandbox.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

/** Starts the command in a process of its own and gives what it printed on stdout once it listens. */
async function start(options: string) {
  const command = ["src/cli.ts", "sandbox", "--port", "0", ...options.split(" ")];
  const child = spawn(process.execPath, command, { stdio: ["ignore", "pipe", "pipe"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  let stderr = "";
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  const printed = await new Promise<any>((resolve, reject) => {
    child.stdout.once("data", (chunk: Buffer) => resolve(JSON.parse(chunk.toString())));
    child.once("exit", () => reject(new Error(stderr)));
  });
  const exited = new Promise<number | null>((resolve) => child.once("exit", resolve));
  return { child, printed, exited, stderr: () => stderr };
}

/** A file that is removed after the test. */
async function fileWith(text: string): Promise<string> {
  const file = join(temporaryFolder(), "file");
  await writeFile(file, text);
  return file;
}

/** What the command says of options that it does not take. */
async function complaintOf(...options: string[]): Promise<string> {
  let complaint = "";
  const command = sandboxCommand({ io }).exitOverride();
  command.configureOutput({ writeErr: (text) => (complaint += text) });
  await expect(command.parseAsync(["node", "sandbox", ...options])).rejects.toThrow();
  return complaint;
}

const io = { stdout: process.stdout, stderr: process.stderr, interrupt: AbortSignal.abort() };

describe("simfleet sandbox", () => {
  test("`simfleet sandbox` prints in one JSON document, and on stderr, how clients reach it", async () => {
    const { printed, stderr } = await start("--json --period 2 --brand Acme");
    expect(printed.environment).toMatchObject({
      SIMFLEET_ENDPOINT_GLOBAL: printed.url,
      SIMFLEET_AUTH_KEY_ID: "keyId-sandbox",
      SIMFLEET_AUTH_KEY: "secret-sandbox",
      SIMFLEET_BRAND: "Acme",
      SIMFLEET_RATE_PERIOD_SECONDS: "2",
    });
    expect(stderr()).toContain(`SIMFLEET_ENDPOINT_GLOBAL=${printed.url}`);
  });

  test("`simfleet sandbox` serves the requested fleet with its limits and faults, and exits cleanly", async () => {
    const file = await fileWith(
      '\uFEFFnote,SIM ID,speedClass\r\n"a, b",8942310000000000001,s1.fast\r\n,8942310000000000019,\r\n,8.94E+18,\r\n',
    );
    const options = `--json --limit 300 --limit Auth=5 --period 2 --fault html-502=1 --faults-on-auth --ids-from ${file}`;
    const { child, printed, exited } = await start(options);
    const limits = { Sim: 300, Auth: 5, Credential: 60 };
    expect(printed).toMatchObject({ sims: 2, limits, periodSeconds: 2 });
    expect((await fetch(`${printed.url}/v1/auth`, { method: "POST" })).status).toBe(502);
    child.kill("SIGTERM");
    expect(await exited).toBe(0);
  });

  test.each([
    [["--port", "many"], "must be a number"],
    [["--limit", "Nope=3"], "must be one of Sim"],
    [["--competitor", "Sim=fast"], "must be a number"],
    [["--fault", "flood=0.1"], "must be one of reset"],
    [["--latency", "1-2-3"], "`10-50`"],
    [["--limit-change", "Sim=3"], "GROUP=LIMIT@SECONDS"],
    [["--rounding", "sideways"], "up, down, nearest"],
    [["--frobnicate"], "unknown option"],
  ])("`simfleet sandbox` rejects the options %j with the reason", async (options, why) => {
    expect(await complaintOf(...options)).toContain(why);
  });

  test.each([
    ["tsconfig.build.json", "tsconfig.build.json"],
    ["no-such-file.csv", "cannot be read"],
  ])("`simfleet sandbox` rejects a file %s without SIM ids", async (file, why) => {
    const command = sandboxCommand({ io }).exitOverride();
    await expect(command.parseAsync(["node", "sandbox", "--ids-from", file])).rejects.toThrow(why);
  });

  test("`simfleet sandbox` loads groups from a file and serves additional operations with `--operations all`", async () => {
    const file = await fileWith("- groupId: g-new\n  configuration:\n    SoracomFunk: { credentialsId: psk-1 }\n");
    const { printed } = await start(`--json --operations all --groups-from ${file}`);
    const state = (await (await fetch(`${printed.url}/_sandbox/state`)).json()) as { groups: number };
    expect(state.groups).toBe(5);
    expect((await fetch(`${printed.url}/v1/groups`)).status).toBe(401);
  });

  test.each([
    ["- groupId: 7\n", "groups.0.groupId"],
    ["- groupId: a\n  colour: red\n", "colour"],
    ["[", "cannot be read as YAML or JSON"],
  ])("`simfleet sandbox` rejects a groups file with the content %j", async (text, why) => {
    const file = await fileWith(text);
    const command = sandboxCommand({ io }).exitOverride();
    await expect(command.parseAsync(["node", "sandbox", "--groups-from", file])).rejects.toThrow(why);
  });
});
