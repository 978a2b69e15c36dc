import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { loadConfig } from "#config/load.ts";
import { features } from "#features.ts";
import { removeTemporaryFiles } from "#app/serve.ts";

it("a worker removes what killed processes have left beside sinks and reports, and in the archive", async () => {
  const root = mkdtempSync(join(tmpdir(), "simfleet-temporary-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const folders = ["sinks", "keys", "reports", "archive/2026/11", "elsewhere"].map((name) => join(root, name));
  const name = `.simfleet.${"a".repeat(24)}.tmp`;
  const twoHoursAgo = Date.now() / 1_000 - 7_200;
  for (const folder of folders) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, name), "secret");
    utimesSync(join(folder, name), twoHoursAgo, twoHoursAgo);
  }
  writeFileSync(join(root, "seal-key"), Buffer.alloc(32, 9), { mode: 0o600 });
  const file = join(root, "simfleet.yaml");
  writeFileSync(
    file,
    `seal: { keyFile: ${root}/seal-key }
rotations:
  mqtt: { type: psk, generate: { field: key, bytes: 32, encoding: base64url }, sinks: [{ file: ${root}/sinks/mqtt }] }
authKeys:
  default: { sinks: [{ file: ${root}/keys/key }] }
schedules:
  report: { cron: "0 3 * * *", job: report, file: ${root}/reports/report.json }
archive: { path: ${root}/archive }
`,
  );
  await removeTemporaryFiles(loadConfig({ file, env: {}, features }));
  expect(folders.map((folder) => readdirSync(folder).length)).toEqual([0, 0, 0, 0, 1]);
});
