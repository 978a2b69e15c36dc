import { expect, test } from "vitest";
import { Keys } from "#redis/keys.ts";
import { inventoryKeys } from "#jobs/inventory/store/keys.ts";

test("all keys begin with one hash tag, so that a cluster keeps them in one slot", () => {
  const keys = new Keys();
  const { records, keyOrder } = inventoryKeys(keys);
  const some = [keys.run("r"), keys.events(), records("a}b"), keys.queues(), keyOrder("p")];
  for (const key of some) expect(key).toMatch(/^\{simfleet\}:/);
});
