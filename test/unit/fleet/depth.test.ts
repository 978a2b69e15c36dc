import { describe, expect, it } from "vitest";
import { listSims } from "#api/operations/sims.ts";
import { isDeeperThan, withoutDepths, jsonWithoutSecrets, pickFields } from "#fleet/sim/sim-fields.ts";
import { entriesRenamed, referencesIn } from "#jobs/credentials/references.ts";

function nested(levels: number, kind: "list" | "object" = "object", inner = "1"): unknown {
  const [open, close] = kind === "list" ? ["[", "]"] : ['{"a":', "}"];
  return JSON.parse(open.repeat(levels) + inner + close.repeat(levels));
}

const depths = [5_000, 100_000];

describe("deeply nested SIM values", () => {
  it.each(depths)("a value nested %d levels deep leaves the other fields unchanged", (levels) => {
    const record = { speedClass: "s1.fast", tags: { site: "a", deep: nested(levels) }, list: nested(levels, "list") };
    const choice = { fields: ["speedClass", "tags", "list"], secrets: new Set(["password"]), places: {} };
    const { fields } = pickFields(record, choice);
    expect(fields.get("speedClass")).toEqual({ text: "s1.fast" });
    expect(fields.get("tags.site")).toEqual({ text: "a" });
    for (const { json, text } of fields.values() as Iterable<{ json?: string; text?: string }>) {
      expect((json ?? text ?? "").length).toBeLessThanOrEqual(1_001);
    }
  });

  it.each(depths)(
    "a value nested %d levels deep has a digest that reflects changes outside the deep levels",
    (levels) => {
      const digest = (status: string): string => jsonWithoutSecrets({ status, deep: nested(levels) }, new Set(["psk"]));
      expect(digest("active")).toBe(digest("active"));
      expect(digest("active")).not.toBe(digest("ready"));
    },
  );

  it.each(depths)("a value nested %d levels deep does not invalidate its list", (levels) => {
    const records = [{ simId: "8942310000000000001", deep: nested(levels) }];
    expect(listSims.output.safeParse(records).success).toBe(true);
  });

  it("a value is kept completely up to 100 levels", () => {
    for (const levels of [1, 50, 100]) {
      expect(isDeeperThan(nested(levels), 100)).toBe(false);
      expect(withoutDepths(nested(levels))).toEqual(nested(levels));
    }
    expect(isDeeperThan(nested(101), 100)).toBe(true);
    expect(JSON.stringify(withoutDepths(nested(102)))).toBe(JSON.stringify(nested(99, "object", "{}")));
    expect(withoutDepths({ a: [nested(200), 1] })).toMatchObject({ a: [{}, 1] });
  });
});

describe("deeply nested group configurations", () => {
  it.each(depths)(
    "a group configuration nested %d levels deep is searched completely, but deep references are not changed",
    (levels) => {
      const deep = nested(levels, "object", '{"credentialsId":"psk-1"}');
      const group = { groupId: "g-1", configuration: { Beam: { deep }, Funnel: { credentialsId: "psk-1" } } };
      expect(referencesIn(group, "psk-1")).toEqual([
        { groupId: "g-1", namespace: "Beam", how: "placeholder" },
        { groupId: "g-1", namespace: "Funnel", how: "id" },
      ]);
      expect(entriesRenamed(group, "psk-1", "psk-2")).toEqual([
        { namespace: "Funnel", entries: { credentialsId: "psk-2" } },
      ]);
    },
  );
});
