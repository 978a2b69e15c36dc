/** Usage that is read, to be killed: every SIM has its usage, and each that crossed a threshold is reported once. */
import { expect } from "vitest";
import type { TestRedis } from "../../support/redis.ts";
import { UsageHarness, much, noonMs } from "../usage/usage-harness.ts";
import type { CrashCase, CrashSubject } from "./crashes.ts";

const monthMs = Date.UTC(2099, 4, 1);
const thresholds = [1e9, 2e9, 5e9].map((over) => ({ ...much, name: `over-${over}`, over }));

async function begun(place: TestRedis): Promise<CrashSubject> {
  const harness = await UsageHarness.open(place, { more: { thresholds } });
  let isOver = false;
  return {
    async work(around) {
      harness.clock.nowMs = noonMs;
      await harness.sync(around);
      isOver = true;
    },
    state: async () => ((await harness.crossed()).length > 0 ? "reporting" : "reading"),
    isOver: () => Promise.resolve(isOver),
    async checkEnd() {
      const bytes = Array.from({ length: 40 }, (_, nth) => harness.bytesOf(nth, monthMs, noonMs));
      expect(await Promise.all(bytes.map((_, nth) => harness.usageOf(nth, "month")))).toEqual(bytes);
      const over = thresholds.flatMap((one) =>
        bytes.flatMap((used, nth) => (used > one.over ? harness.simId(nth) : [])),
      );
      expect((await harness.crossed()).toSorted()).toEqual(over.toSorted());
      return "read";
    },
  };
}

export const usageCases = (place: TestRedis): readonly CrashCase[] => [
  { name: "usage that is read", begin: () => begun(place), end: "read", states: ["reading", "reporting"] },
];
