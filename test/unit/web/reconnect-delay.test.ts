import { expect, it } from "vitest";
import { reconnectDelayMs } from "../../../web/src/pure/reconnect-delay.ts";

it("the reconnect delay grows to at most 30 seconds and differs between tabs", () => {
  expect([0, 1, 2, 3].map((tries) => reconnectDelayMs(tries, 1))).toEqual([1_000, 2_000, 4_000, 8_000]);
  expect(reconnectDelayMs(40, 1)).toBe(30_000);
  expect(reconnectDelayMs(40, 0)).toBe(15_000);
});
