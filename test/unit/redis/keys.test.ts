import { describe, expect, test } from "vitest";
import { Keys } from "#redis/keys.ts";

describe("keys", () => {
  test("all keys begin with one hash tag, so that a cluster keeps them in one slot", () => {
    const keys = new Keys();
    const some = [keys.run("r"), keys.events(), keys.sims("a}b"), keys.queues(), keys.simsKeyOrder("p")];
    for (const key of some) expect(key).toMatch(/^\{simfleet\}:/);
  });

  test("a prefix without a hash tag is refused", () => {
    for (const prefix of ["simfleet", "", "{}:a", "a{b}", "{{a}"]) {
      expect(() => new Keys(prefix)).toThrow("does not begin with a hash tag");
    }
    expect(new Keys("{t}:own").run("r")).toBe("{t}:own:run:r");
  });
});
