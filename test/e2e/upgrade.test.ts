/**
 * An upgrade and a downgrade by one version during a run: workers of the previous commit's build and of this one take turns,
 * and every row still ends with one outcome. Building the previous commit takes half a minute, so this is a long form alone.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { isLong } from "../support/long.ts";
import { root } from "./support/built-cli.ts";
import { CliHarness } from "./support/cli-harness.ts";
import type { RunningProcess } from "./support/process.ts";
import { counted, resultRows } from "./support/results.ts";

vi.setConfig({ testTimeout: 150_000, hookTimeout: 150_000 });

const rows = 600;
const previous = join(root, "node_modules", `.previous-${process.pid}`);
const hasPrevious = spawnSync("git", ["rev-parse", "--verify", "-q", "HEAD~1"], { cwd: root }).status === 0;

function command(program: string, args: readonly string[], cwd: string): void {
  const { status, stderr, stdout } = spawnSync(program, args, { cwd, encoding: "utf8" });
  if (status !== 0) throw new Error(`${program} ${args.join(" ")} ended with ${status}:\n${stdout}${stderr}`);
}

describe.skipIf(!isLong || !hasPrevious)("upgrades and downgrades during a run", () => {
  beforeAll(() => {
    mkdirSync(previous, { recursive: true });
    command("sh", ["-c", `git archive HEAD~1 | tar -x -C ${JSON.stringify(previous)}`], root);
    symlinkSync(join(root, "node_modules"), join(previous, "node_modules"));
    command(process.execPath, [join(previous, "scripts", "build.mjs")], previous);
  });
  afterAll(() => {
    rmSync(previous, { recursive: true, force: true });
  });

  test.each(["SIGTERM", "SIGKILL"] as const)(
    "no row is lost when workers of two versions take turns (%s)",
    async (how) => {
      await using harness = await CliHarness.open({
        sims: rows,
        latencyMs: [20, 60],
        limits: { Sim: 200 },
        env: { SIMFLEET_CONNECTIONS: "8" },
      });
      await harness.redis();
      await harness.fleet("fleet.csv", rows);
      const startOf = {
        previous: () => harness.startProgram(process.execPath, [join(previous, "dist", "cli.js"), "worker"]),
        present: () => harness.start(["worker"]),
      };
      const { runId } = (await harness.json(["apply", "fleet.csv", "--yes", "--detach"])).document;
      let inFlight = 0;
      for (const [turn, version] of (["previous", "present", "previous"] as const).entries()) {
        const worker: RunningProcess = startOf[version]();
        await worker.said(/the worker is ready/);
        await harness.untilChanges(Math.floor(((turn + 1) * rows) / 4));
        worker.kill(how);
        expect((await worker.ended).code).toBe(how === "SIGTERM" ? 0 : 137);
        if (how === "SIGKILL") inFlight += 8 * 4;
      }
      const last = startOf.present();
      await last.said(/the worker is ready/);
      expect(await harness.json(["runs", "watch", runId])).toMatchObject({ code: 0, document: { state: "completed" } });
      const results = resultRows((await harness.run(["runs", "results", runId])).stdout);
      expect(counted(results.map(({ outcome = "" }) => outcome))).toEqual({ done: rows });
      expect(harness.changes - rows).toBeGreaterThanOrEqual(0);
      expect(harness.changes - rows).toBeLessThanOrEqual(inFlight);
      expect(harness.sandbox.state.totals.throttled).toBe(0);
      last.kill("SIGTERM");
      await last.ended;
    },
  );
});
