import { expect, it } from "vitest";
import { Slots } from "#core/slots.ts";

it("connection slots rotate among operations, and are first come, first served within each", async () => {
  const slots = new Slots(1);
  void slots.enter("first");
  const served: string[] = [];
  const entering = ["change", "change", "change", "list", "change", "list"].map(async (operation, n) => {
    await slots.enter(operation);
    served.push(`${operation} ${n}`);
    slots.leave();
  });
  slots.leave();
  await Promise.all(entering);
  expect(served).toEqual(["change 0", "list 3", "change 1", "list 5", "change 2", "change 4"]);
});
