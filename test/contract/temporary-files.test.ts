import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { removeTemporaryFiles } from "#kernel/serve.ts";
import { ControlHarness } from "./support/control-harness.ts";

/** A worker with folders of which all but the last are its own; each has a file that was left two hours ago. */
async function setup() {
  const root = mkdtempSync(join(tmpdir(), "simfleet-temporary-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const folders = ["sinks", "keys", "reports", "archive/2026/11", "elsewhere"].map((name) => join(root, name));
  const twoHoursAgo = Date.now() / 1_000 - 7_200;
  for (const folder of folders) {
    const left = join(folder, `.simfleet.${"a".repeat(24)}.tmp`);
    mkdirSync(folder, { recursive: true });
    writeFileSync(left, "secret");
    utimesSync(left, twoHoursAgo, twoHoursAgo);
  }
  writeFileSync(join(root, "seal-key"), Buffer.alloc(32, 9), { mode: 0o600 });
  const settings = `seal: { keyFile: ${root}/seal-key }
rotations:
  mqtt: { type: psk, generate: { field: key, bytes: 32, encoding: base64url }, sinks: [{ file: ${root}/sinks/mqtt }] }
authKeys:
  default: { sinks: [{ file: ${root}/keys/key }] }
schedules:
  report: { cron: "0 3 * * *", job: report, file: ${root}/reports/report.json }
archive: { path: ${root}/archive }
`;
  return { folders, harness: await ControlHarness.open({ prepare: () => Promise.resolve(settings) }) };
}

it("a worker removes what killed processes have left next to sinks and reports, and in the archive", async () => {
  const { folders, harness } = await setup();
  await using _ = harness;
  await removeTemporaryFiles(harness.app);
  expect(folders.map((folder) => readdirSync(folder).length)).toEqual([0, 0, 0, 0, 1]);
});
