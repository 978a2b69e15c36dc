import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseRecordPath, textAt } from "#fleet/sim/record-path.ts";

function at(record: unknown, path: string): string | undefined {
  const steps = parseRecordPath(path);
  if (steps === undefined) throw new Error(`${path} is no path`);
  return textAt(record, steps);
}

describe("record paths", () => {
  const record = {
    imsi: "001",
    count: 7,
    profiles: { a: { subscribers: {} }, b: { primaryImsi: "" }, c: { primaryImsi: "002" }, d: { primaryImsi: "003" } },
    list: [{ name: 1 }, { name: "second" }],
  };

  it("a record path leads to the text under its names", () => {
    expect(at(record, "imsi")).toBe("001");
    expect(at(record, "profiles.d.primaryImsi")).toBe("003");
  });

  it("a record path with * uses the first member that has text", () => {
    expect(at(record, "profiles.*.primaryImsi")).toBe("002");
    expect(at(record, "list.*.name")).toBe("second");
    expect(at(record, "*.*.primaryImsi")).toBe("002");
  });

  it("a record path finds nothing where there is no text", () => {
    for (const path of ["count", "profiles", "profiles.*.imsi", "imsi.length", "imsi.*", "none.at.all"]) {
      expect(at(record, path), path).toBeUndefined();
    }
  });

  it("a record path never reaches inherited properties", () => {
    for (const path of ["constructor.name", "__proto__.constructor.name", "toString.name"]) {
      expect(at({}, path), path).toBeUndefined();
    }
  });

  it("a record path reads any record safely", () => {
    fc.assert(
      fc.property(fc.object({ maxDepth: 4 }), (anything) => {
        const found = at(anything, "*.*.*");
        expect(found === undefined || found.length > 0).toBe(true);
      }),
    );
  });
});
