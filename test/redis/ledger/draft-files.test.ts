/** A file that is planned is closed, whatever becomes of its plan. */
import { readdirSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { openTestRedis } from "../../support/redis.ts";
import { until } from "../../support/until.ts";
import { runServiceOn } from "./run-service.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

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

it.each([{ skipUnchanged: false }, {}])(
  "a file is closed whose plan fails before its rows are read: %j",
  async (more) => {
    const path = join(temporaryFolder(), "fleet.csv");
    writeFileSync(path, `simId,speedClass\n${"8942310000000000001,s1.fast\n".repeat(100_000)}`);
    const { runs, ledger } = runServiceOn(place, { memory: () => Promise.resolve(full) });
    vi.spyOn(ledger, "active").mockRejectedValue(new Error("Redis is away"));
    const order = { profile: "default", set: {}, options: { partial: false, ...more } };
    const why = "skipUnchanged" in more ? { code: "STORE_FULL" } : { message: "Redis is away" };
    await expect(runs.draft({ path }, order)).rejects.toMatchObject(why);
    await until("the file is closed", () => !isOpen(path), 5_000);
  },
);
