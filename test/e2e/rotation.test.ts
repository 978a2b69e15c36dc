/**
 * Rotations with the built command line: what a user sees, and that the secret is nowhere but where it belongs. The
 * secret comes from a program, so that the test knows it before anybody does.
 */
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { RotationReport } from "#jobs/credentials/contract.ts";
import { found, textsIn } from "./support/canary.ts";
import { CliHarness, type CliHarnessOptions } from "./support/cli-harness.ts";

const canary = `canary+/="\\<ö>-${"z".repeat(24)}`;

/** A harness with the rotation `mqtt`, whose set a group names. */
async function setup(options: CliHarnessOptions = {}, { graceSeconds = 0, seal = "seal: { keyFile: seal-key }" } = {}) {
  const config = `${seal}
rotations:
  mqtt:
    type: psk
    from: { command: [cat, next], field: key }
    graceSeconds: ${graceSeconds}
    sinks: [ { file: out/mqtt }, { command: [sh, -c, 'cat >out/stored'] } ]
`;
  const secretFiles = { next: `${canary}\n` };
  const harness = await CliHarness.open({ isSoracom: true, config, secretFiles, ...options });
  mkdirSync(harness.path("out"));
  harness.sandbox.state.credentials.create("mqtt", { type: "psk", credentials: { key: "before" } });
  const [group] = harness.sandbox.state.groups.all;
  harness.sandbox.state.groups.configure(group?.groupId ?? "", "SoracomFunk", [
    { key: "credentialsId", value: "mqtt" },
  ]);
  return harness;
}

/** Ids of the account's sets, and the secret of each. */
function setsOf(harness: CliHarness): [string, unknown][] {
  const { credentials } = harness.sandbox.state;
  return credentials.all.map(({ credentialsId: id }) => [id, credentials.secretOf(id)?.key]);
}

/** Those that the secret is for. */
const isMeant = (path: string): boolean => path === "next" || path.startsWith("out/");

describe.concurrent("rotations", () => {
  const rotate = (harness: CliHarness) => harness.json<RotationReport>(["credentials", "rotate", "mqtt", "--yes"]);

  test("a rotation without a worker is performed by the command, which shows each step", async () => {
    await using harness = await setup();
    const { code, stderr, document } = await rotate(harness);
    expect([code, document.state, stderr]).toEqual([0, "done", expect.anything()]);
    expect(stderr).toContain("mqtt: generate the new secret");
    expect(document.credentialsId).toMatch(/^mqtt-\d{8}T\d{4}Z$/);
    expect(setsOf(harness)).toEqual([[document.credentialsId, canary]]);
    expect(readFileSync(join(harness.folder, "out/mqtt"), "utf8")).toBe(canary);
    expect(statSync(join(harness.folder, "out/mqtt")).mode & 0o777).toBe(0o600);
    expect(document.startedBy).toBe(`cli:${userInfo().username}`);
    const events = await (await harness.redis()).xrange("{simfleet}:events", "-", "+");
    const rotated = events.find(([, fields]) => fields.includes("credential.rotated"));
    expect(rotated?.[1]).toContain(`cli:${userInfo().username}`);
  });

  test("the list of Credential Sets shows the rotation of one, and the group that names it", async () => {
    await using harness = await setup();
    const { document } = await rotate(harness);
    const { document: listed } = await harness.json<{ credentials: unknown[] }>(["credentials", "list"]);
    expect(listed.credentials).toEqual([
      expect.objectContaining({
        credentialsId: document.credentialsId,
        type: "psk",
        rotation: "mqtt",
        references: [expect.objectContaining({ namespace: "SoracomFunk", how: "id" })],
      }),
    ]);
  });

  test("the status of a rotation is shown as a table and as JSON", async () => {
    await using harness = await setup();
    await rotate(harness);
    const { document: status } = await harness.json<{ rotations: RotationReport[] }>(["credentials", "status"]);
    expect(status.rotations).toEqual([expect.objectContaining({ name: "mqtt", state: "done", ageDays: 0 })]);
    const shown = await harness.run(["credentials", "status"]);
    expect(shown.stdout).toMatch(/^ROTATION .*\nmqtt +done +mqtt-\d{8}T\d{4}Z /);
  });

  // Shows S19.
  test("a rotation with missing requirements does not start", async () => {
    await using harness = await setup({}, { seal: "" });
    await using plain = await setup({ env: { SIMFLEET_DEPLOYMENT: "svc" } });
    for (const [at, line, why] of [
      [harness, "credentials rotate mqtt --yes", /seal.keyFile: is required: .*openssl rand -hex 32/],
      [harness, "credentials rotate mqtt", /--yes/],
      [harness, "credentials confirm mqtt", /^simfleet: the rotation mqtt is not in progress\n$/],
      [plain, "credentials rotate mqtt --yes", /operations.listCredentials: .*\n.*extends: svc/],
    ] as const) {
      expect(await at.run(line.split(" "))).toMatchObject({ code: 2, stderr: expect.stringMatching(why) });
    }
    const unknown = await harness.json<{ error: { code: string } }>(["credentials", "rotate", "mqt", "--yes"]);
    expect([unknown.code, unknown.document.error.code]).toEqual([2, "ROTATION_NOT_FOUND"]);
    expect([setsOf(harness), setsOf(plain)]).toEqual([[["mqtt", "before"]], [["mqtt", "before"]]]);
  });
});

// Shows S19.
describe.concurrent("a rotation leaves its secret only where it belongs, even when it fails", () => {
  // A process keeps the secrets of earlier commands out of what it prints: here each command has one of its own.
  const options = { isProcessPerCommand: true, env: { SIMFLEET_LOG_LEVEL: "trace" } };

  test("the secret lies sealed, and is in no output, title, file or log", async () => {
    await using harness = await setup(options, { graceSeconds: 600 });
    const said = [await harness.run(["credentials", "rotate", "mqtt", "--yes", "--json"])];
    expect(said[0]?.code).toBe(0);
    const worker = await harness.worker();
    expect((await harness.ask(worker, "/healthz")).status).toBe(200);
    said.push(await harness.run(["credentials", "status"]), await harness.run(["credentials", "list", "--json"]));
    const title = readFileSync(`/proc/${worker.pid}/cmdline`, "latin1");
    said.push(await worker.end());
    const shown = said.flatMap(({ stdout, stderr }) => [stdout, stderr]);
    const texts = [title, await textsIn(harness.folder, isMeant), ...shown].join("\n");
    // It lies sealed, and is found when it is looked for in the right way.
    expect(texts).toContain("eyJhbGciOiJkaXIi");
    expect(found(texts, [canary])).toEqual([]);
  });

  test("a source and a sink that print the secret and fail leave no trace of it", async () => {
    await using failing = await setup(options);
    const yaml = readFileSync(join(failing.folder, "simfleet.yaml"), "utf8");
    const loud = yaml
      .replace(/command: \[sh, -c, '.*'\]/, "command: [/no/such/store]")
      .replace("[cat,", "[sh, -c, 'cat $0; cat $0 >&2; exit 1',");
    writeFileSync(join(failing.folder, "simfleet.yaml"), loud);
    const failed = await failing.run(["credentials", "rotate", "mqtt", "--yes"]);
    const why = expect.stringMatching(/^The rotation mqtt failed, and the old secret stays in use: /) as unknown;
    expect([failed.code, failed.stdout]).toEqual([1, why]);
    const left = `${failed.stdout}${failed.stderr}${await textsIn(failing.folder, isMeant)}`;
    expect(found(left, [canary])).toEqual([]);
  });
});
