/** A file that is planned is closed, whatever becomes of its plan. */
import { mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { openTestRedis } from "../../support/redis.ts";
import { until } from "../../support/until.ts";
import { runServiceOn } from "./run-service.ts";

const place = openTestRedis();
const full = { usedBytes: 1_000_000, limitBytes: 1_000_000, limitFrom: "maxmemory" } as const;

function isOpen(path: string): boolean {
  return readdirSync("/proc/self/fd").some((name) => {
    try {
      return readlinkSync(`/proc/self/fd/${name}`) === path;
    } catch {
      return false;
    }
  });
}

it("a file whose plan is refused before its rows are read is closed", async () => {
  const folder = mkdtempSync(join(tmpdir(), "simfleet-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "fleet.csv");
  writeFileSync(path, `simId,speedClass\n${"8942310000000000001,s1.fast\n".repeat(100_000)}`);
  const { runs } = runServiceOn(place, { memory: () => Promise.resolve(full) });
  const order = { profile: "default", set: {}, options: { partial: false, skipUnchanged: false } };
  await expect(runs.draft({ path }, order)).rejects.toMatchObject({ code: "STORE_FULL" });
  await until("the file is closed", () => !isOpen(path), 5_000);
});
