import { getEventListeners } from "node:events";
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

it("a cancelled call leaves the line of connection slots, and a signal has no listener when no call waits", async () => {
  const slots = new Slots(1);
  void slots.enter("first");
  const { signal } = new AbortController();
  const stopping = new AbortController();
  const [served, gone] = [slots.enter("change", signal), slots.enter("change", stopping.signal)];
  stopping.abort(new Error("stopped"));
  await expect(gone).rejects.toThrow("stopped");
  slots.leave();
  await served;
  expect([getEventListeners(signal, "abort"), slots.leave(), slots.enter("list")]).toEqual([[], undefined, undefined]);
});
