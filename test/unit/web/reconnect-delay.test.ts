import { expect, it } from "vitest";
import { reconnectDelayMs } from "../../../web/src/pure/reconnect-delay.ts";

it("grows to half a minute at most, and differs from tab to tab", () => {
  expect([0, 1, 2, 3].map((tries) => reconnectDelayMs(tries, 1))).toEqual([1_000, 2_000, 4_000, 8_000]);
  expect(reconnectDelayMs(40, 1)).toBe(30_000);
  expect(reconnectDelayMs(40, 0)).toBe(15_000);
});
