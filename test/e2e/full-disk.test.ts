/** A disk that is full under the embedded Redis, which then rejects writes. */
import { execFileSync } from "node:child_process";
import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test, vi } from "vitest";
import { until } from "../support/until.ts";
import { CliHarness } from "./support/cli-harness.ts";
import { unless } from "../support/left-out.ts";

vi.setConfig({ testTimeout: 600_000 });

/** A folder on a disk of its own; undefined where none can be mounted. */
const folder = ((): string | undefined => {
  const path = mkdtempSync(join(tmpdir(), "simfleet-disk-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=8m", "tmpfs", path], { stdio: "ignore" });
    return path;
  } catch {
    rmSync(path, { recursive: true });
    return undefined;
  }
})();

const filling = join(folder ?? "", "fill");
const reason = expect.stringContaining("No space left on device") as string;
const problem = { message: reason };
const rejection = expect.stringMatching(/runs and rejects writes: .*No space/) as string;

afterAll(() => {
  if (folder === undefined) return;
  execFileSync("umount", ["-l", folder]);
  rmSync(folder, { recursive: true });
});

/** Fills the disk to its last byte. */
function fill(path: string): void {
  for (const bytes of [65_536, 64]) {
    try {
      for (;;) appendFileSync(path, Buffer.alloc(bytes));
    } catch (thrown) {
      expect(thrown).toMatchObject({ code: "ENOSPC" });
    }
  }
}

/** A run on the small disk that a worker has begun, and the worker's words. */
async function setup(data: string) {
  const env = { SIMFLEET_DATA_DIR: data };
  const harness = await CliHarness.open({ sims: 400, rows: 400, limits: { Sim: 80 }, env });
  const worker = await harness.worker();
  const { runId } = (await harness.json(["apply", "fleet.csv", "--yes", "--detach"])).document;
  await harness.untilChanges(30);
  const errors = (): number => worker.stderr.split('"level":"error"').length - 1;
  const answerTo = async (path: string) => {
    const response = await harness.ask(worker, path);
    return { status: response.status, body: await response.json() };
  };
  return Object.assign(harness, { runId, errors, answerTo });
}

const leftOut = unless(folder !== undefined, "no disk can be mounted here");

describe.skipIf(folder === undefined)(`a worker on a full disk${leftOut}`, () => {
  test("a worker is not ready and says why, commands too, and its run ends once there is room", async () => {
    await using harness = await setup(folder ?? "");
    const { runId, errors, answerTo } = harness;
    fill(filling);
    await until("errors were logged", () => errors() >= 2);
    expect(await answerTo("/readyz")).toMatchObject({ status: 503, body: { status: "unavailable", reason } });
    expect(await answerTo(`/v1/runs/${runId}`)).toMatchObject({ body: { state: "running", problem } });
    const startMs = performance.now();
    expect(await harness.run(["runs", "show", runId])).toMatchObject({ code: 4, stderr: rejection });
    expect(performance.now() - startMs).toBeLessThan(5_000);
    expect(errors()).toBeLessThan(30);
    rmSync(filling);
    await harness.untilState(runId, "completed");
    expect((await answerTo("/readyz")).status).toBe(200);
  });
});
