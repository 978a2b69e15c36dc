import { expect, test } from "vitest";
import { Keys } from "#redis/keys.ts";

test("all keys begin with one hash tag, so that a cluster keeps them in one slot", () => {
  const keys = new Keys();
  const some = [keys.run("r"), keys.events(), keys.sims("a}b"), keys.queues(), keys.simsKeyOrder("p")];
  for (const key of some) expect(key).toMatch(/^\{simfleet\}:/);
});
