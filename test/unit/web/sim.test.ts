import { describe, expect, it } from "vitest";
import { comparedFields, instantOf, leavesOf, otherFields } from "../../../web/src/pure/sims/sim.ts";

const stored = leavesOf({
  simId: "a",
  imsi: "440",
  status: "active",
  groupId: "g-1",
  tags: { site: "berlin" },
  speedClass: "s1.fast",
  addedAt: "2026-11-20T00:00:00Z",
  seenAt: "2026-11-20T00:00:00Z",
  goneAt: null,
});

describe("the fields of a SIM", () => {
  it("SIM fields are listed per object member without metadata of the record", () => {
    expect([...stored.keys()]).toEqual(["simId", "imsi", "status", "groupId", "tags.site", "speedClass"]);
    expect([...leavesOf({ a: { b: { c: [1] } }, none: null })]).toEqual([["a.b.c", [1]]]);
  });
});

describe("the comparison of two SIM readings", () => {
  const fresh = leavesOf({
    simId: "a",
    status: "inactive",
    tags: {
      site: "berlin",
      floor: "2",
    },
    speedClass: "s1.fast",
    serial: "x",
    profiles: { a: { primaryImsi: "440" } },
  });

  it("the comparison shows changed, removed, and added fields but no field that only moved", () => {
    const different = comparedFields(stored, fresh).filter(({ isDifferent }) => isDifferent);
    expect(different.map(({ field, stored: before, fresh: now }) => [field, before, now])).toEqual([
      ["status", "active", "inactive"],
      ["groupId", "g-1", undefined],
      ["tags.floor", undefined, "2"],
    ]);
  });

  it("the comparison lists the remaining fields of the platform's record separately", () => {
    expect(otherFields(stored, fresh).map(([field]) => field)).toEqual(["serial", "profiles.a.primaryImsi"]);
  });
});

describe("numbers that are times", () => {
  it("a number counts as a time if it is a millisecond timestamp of this century", () => {
    expect(instantOf(1_795_000_000_000)).toBe("2026-11-18T11:06:40.000Z");
    for (const value of [295_053_768_385_126, 1_795_000_000, "1795000000000", null]) {
      expect(instantOf(value)).toBeUndefined();
    }
  });
});
