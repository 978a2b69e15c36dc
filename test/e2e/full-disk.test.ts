/** A disk that is full under the embedded Redis, which then rejects writes. */
import { execFileSync } from "node:child_process";
import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { until } from "../support/until.ts";
import { CliHarness } from "./support/cli-harness.ts";
import { unless } from "../support/left-out.ts";

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

test.skipIf(folder === undefined)(
  `a worker on a full disk is not ready and says why, commands too, and its run ends once there is room${unless(folder !== undefined, "no disk can be mounted here")}`,
  { timeout: 600_000 },
  async () => {
    const data = folder ?? "";
    onTestFinished(() => {
      execFileSync("umount", ["-l", data]);
      rmSync(data, { recursive: true });
    });
    const env = { SIMFLEET_DATA_DIR: data };
    await using harness = await CliHarness.open({ sims: 400, rows: 400, limits: { Sim: 80 }, env });
    const worker = await harness.worker();
    const { runId } = (await harness.json(["apply", "fleet.csv", "--yes", "--detach"])).document;
    await harness.untilChanges(30);
    const errors = (): number => worker.stderr.split('"level":"error"').length - 1;
    fill(join(data, "fill"));
    await until("errors were logged", () => errors() >= 2);
    const ask = async (path: string) => {
      const response = await harness.ask(worker, path);
      return { status: response.status, body: await response.json() };
    };
    const reason = expect.stringContaining("No space left on device") as string;
    expect(await ask("/readyz")).toMatchObject({ status: 503, body: { status: "unavailable", reason } });
    expect(await ask(`/v1/runs/${runId}`)).toMatchObject({ body: { state: "running", problem: { message: reason } } });
    const startMs = performance.now();
    const { code, stderr } = await harness.run(["runs", "show", runId]);
    expect({ code, stderr }).toEqual({ code: 4, stderr: expect.stringMatching(/runs and rejects writes: .*No space/) });
    expect(performance.now() - startMs).toBeLessThan(5_000);
    expect(errors()).toBeLessThan(30);
    rmSync(join(data, "fill"));
    await harness.untilState(runId, "completed");
    expect((await ask("/readyz")).status).toBe(200);
  },
);
