import { describe, expect, it } from "vitest";
import { Slots } from "#core/slots.ts";

/** Enters in this order, then leaves one by one; who got in, in their order. */
async function servedOf(entering: readonly string[], slots: Slots): Promise<string[]> {
  const served: string[] = [];
  const inLine = entering.map(async (name, n) => {
    await slots.enter(name);
    served.push(`${name} ${n}`);
    slots.leave();
  });
  slots.leave();
  await Promise.all(inLine);
  return served;
}

describe("connection slots", () => {
  it("a connection slot is granted at once while any is free", async () => {
    const slots = new Slots(2);
    expect(slots.enter("change")).toBeUndefined();
    expect(slots.enter("change")).toBeUndefined();
    const third = slots.enter("change");
    expect(third).toBeInstanceOf(Promise);
    slots.leave();
    await third;
  });

  it("connection slots rotate among operations and are first come, first served within each", async () => {
    const slots = new Slots(1);
    void slots.enter("first");
    const served = await servedOf(["change", "change", "change", "list", "change", "list"], slots);
    expect(served).toEqual(["change 0", "list 3", "change 1", "list 5", "change 2", "change 4"]);
  });

  it("a connection slot skips a cancelled waiter and is not lost", async () => {
    const slots = new Slots(1);
    void slots.enter("first");
    const leaving = new AbortController();
    const gone = slots.enter("list", leaving.signal);
    leaving.abort(new Error("stopped"));
    await expect(gone).rejects.toThrow("stopped");
    expect(await servedOf(["change"], slots)).toEqual(["change 0"]);
    expect(slots.enter("list")).toBeUndefined();
  });
});
