import fc from "fast-check";
import { expect, test } from "vitest";
import { grouped } from "#core/grouped.ts";

test("a number of up to three decimals is written as Intl writes it", () => {
  const numbers = fc.maxSafeInteger().map((thousandths) => thousandths / (thousandths % 2 === 0 ? 1_000 : 1));
  fc.assert(fc.property(numbers, (number) => grouped(number) === number.toLocaleString("en-US")));
  expect([0, 999, 1_000, -1_234_567.89, 0.12345, 1e-9].map(grouped)).toEqual([
    "0",
    "999",
    "1,000",
    "-1,234,567.89",
    "0.123",
    "0",
  ]);
});
